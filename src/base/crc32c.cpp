#include "base/crc32c.hpp"

#include <array>

namespace penstock {
namespace {

constexpr std::uint32_t polynomial = 0x82F63B78;  // reflected: the lowest power in the highest bit
constexpr std::uint32_t one = 0x80000000;         // the polynomial 1, reflected
constexpr std::size_t width = 8;                  // bytes at a time

using Tables = std::array<std::array<std::uint32_t, 256>, width>;

/// tables[k][b]: the effect on the remainder of byte b followed by k zeros.
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

/// Product of polynomials, modulo Castagnoli's.
constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t sum = 0;
  for (std::uint32_t bit = one; bit != 0; bit >>= 1) {
    sum ^= (a & bit) != 0 ? b : 0;
    b = (b >> 1) ^ ((b & 1) != 0 ? polynomial : 0);
  }
  return sum;
}

/// powers[k]: x to the power 8 * 2^k, the factor for 2^k zero bytes.
constexpr std::array<std::uint32_t, 63> make_powers() {
  std::array<std::uint32_t, 63> powers{};
  powers[0] = one >> 8;
  for (std::size_t k = 1; k < powers.size(); ++k) powers[k] = product(powers[k - 1], powers[k - 1]);
  return powers;
}

constexpr std::array<std::uint32_t, 63> powers = make_powers();

}  // namespace

std::uint32_t crc32c_remainder(std::uint32_t before, std::span<const std::byte> bytes) noexcept {
  std::uint32_t sum = before;
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
  return sum;
}

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
  return ~crc32c_remainder(0xFFFFFFFF, bytes);
}

ZeroBytes::ZeroBytes(std::int64_t count) noexcept : count_(count), power_(one) {
  for (std::size_t k = 0; k < powers.size(); ++k)
    if ((count >> k & 1) != 0) power_ = product(power_, powers[k]);
}

std::uint32_t ZeroBytes::after(std::uint32_t before) const noexcept {
  return before == 0 ? 0 : product(power_, before);
}

std::uint32_t crc32c_of(std::uint32_t remainder, std::int64_t bytes) noexcept {
  return ~(remainder ^ ZeroBytes(bytes).after(0xFFFFFFFF));
}

}  // namespace penstock
