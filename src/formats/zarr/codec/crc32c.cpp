#include <cstring>

#include "base/crc32c.hpp"
#include "formats/zarr/codec/kinds.hpp"

namespace penstock {
namespace {

std::uint32_t byte_at(std::span<const std::byte> bytes, std::size_t i) noexcept {
  return std::to_integer<std::uint32_t>(bytes[i]);
}

/// The sum follows the bytes, lowest byte first.
constexpr std::size_t sum_size = 4;

class Crc32c final : public Codec {
 public:
  Bytes encode(std::span<const std::byte> plain) const override {
    Bytes coded(plain.size() + sum_size);
    if (!plain.empty()) std::memcpy(coded.data(), plain.data(), plain.size());
    const std::uint32_t sum = crc32c(plain);
    for (std::size_t i = 0; i < sum_size; ++i)
      coded[plain.size() + i] = static_cast<std::byte>(sum >> (8 * i));
    return coded;
  }

  Bytes decode(std::span<const std::byte> coded, std::int64_t) const override {
    if (coded.size() < sum_size) throw_damaged("crc32c", "it is shorter than its checksum");
    const auto plain = coded.first(coded.size() - sum_size);
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < sum_size; ++i) sum |= byte_at(coded, plain.size() + i) << (8 * i);
    if (sum != crc32c(plain)) throw_damaged("crc32c", "its checksum is another one");
    return Bytes(plain.begin(), plain.end());
  }
};

}  // namespace

std::unique_ptr<Codec> make_crc32c() {
  return std::make_unique<Crc32c>();
}

}  // namespace penstock
