#include "base/crc32c.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace penstock {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// RFC 3720, appendix B.4.
TEST(Crc32c, KnownMessages) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32)), 0x8A9136AA);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0xFF})), 0x62A8AB43);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32c, PartsWithZerosAroundThemAddUp) {
  const auto message = bytes_of("Parts of one message lie in several processes.");
  const auto size = static_cast<std::int64_t>(message.size());
  std::uint32_t shares = 0;
  for (const auto& [begin, end] :
       {std::pair(std::int64_t{0}, std::int64_t{7}), {7, 8}, {8, size}}) {
    const std::span<const std::byte> part(message.data() + begin, message.data() + end);
    std::uint32_t remainder = crc32c_remainder(0, std::vector<std::byte>(std::size_t(begin)));
    EXPECT_EQ(remainder, 0u);
    remainder = crc32c_remainder(remainder, part);
    const std::uint32_t slowly =
        crc32c_remainder(remainder, std::vector<std::byte>(std::size_t(size - end)));
    EXPECT_EQ(ZeroBytes(size - end).after(remainder), slowly);
    shares ^= slowly;
  }
  EXPECT_EQ(crc32c_of(shares, size), crc32c(message));
}

TEST(Crc32c, ManyZeros) {
  const std::uint32_t begin = 0x12345678;
  for (const std::int64_t count : {0, 1, 255, 256, 65537}) {
    const std::vector<std::byte> zeros(static_cast<std::size_t>(count));
    EXPECT_EQ(ZeroBytes(count).after(begin), crc32c_remainder(begin, zeros)) << count;
  }
  const std::int64_t most = std::int64_t{1} << 50;
  EXPECT_EQ(ZeroBytes(most + 3).after(begin), ZeroBytes(3).after(ZeroBytes(most).after(begin)));
}

}  // namespace
}  // namespace penstock
