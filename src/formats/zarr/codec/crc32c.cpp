#include <array>
#include <cstring>

#include "formats/zarr/codec/kinds.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t polynomial =
    0x82F63B78;                   // Castagnoli's, its lowest power in the highest bit
constexpr std::size_t width = 8;  // bytes at a time

using Tables = std::array<std::array<std::uint32_t, 256>, width>;

/// tables[k][b]: what byte b, followed by k zeros, does to the remainder.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t remainder = b;
    for (int bit = 0; bit < 8; ++bit)
      remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? polynomial : 0);
    tables[0][b] = remainder;
  }
  for (std::size_t k = 1; k < width; ++k)
    for (std::size_t b = 0; b < 256; ++b)
      tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xFF];
  return tables;
}

constexpr Tables tables = make_tables();

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

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
  std::uint32_t sum = 0xFFFFFFFF;
  std::size_t i = 0;
  for (; i + width <= bytes.size(); i += width) {
    std::uint32_t next = 0;
    for (std::size_t k = 0; k < width; ++k) {
      const std::uint32_t mixed = byte_at(bytes, i + k) ^ (k < 4 ? (sum >> (8 * k)) & 0xFF : 0);
      next ^= tables[width - 1 - k][mixed];
    }
    sum = next;
  }
  for (; i < bytes.size(); ++i) sum = (sum >> 8) ^ tables[0][(sum ^ byte_at(bytes, i)) & 0xFF];
  return ~sum;
}

std::unique_ptr<Codec> make_crc32c() {
  return std::make_unique<Crc32c>();
}

}  // namespace penstock
