#include "mpi_io/number_codes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

namespace penstock {
namespace {

using Family = BasicType::Family;

std::uint16_t swapped(std::uint16_t value) noexcept {
  return __builtin_bswap16(value);
}
std::uint32_t swapped(std::uint32_t value) noexcept {
  return __builtin_bswap32(value);
}
std::uint64_t swapped(std::uint64_t value) noexcept {
  return __builtin_bswap64(value);
}

template <class Word>
Word load(const std::byte* from) noexcept {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}
template <class Word>
void store(std::byte* to, Word word) noexcept {
  std::memcpy(to, &word, sizeof word);
}

template <class Word>
void swap_words(std::int64_t count, const std::byte* from, std::byte* to) noexcept {
  constexpr std::int64_t size = sizeof(Word);
  for (std::int64_t i = 0; i < count; ++i)
    store(to + i * size, swapped(load<Word>(from + i * size)));
}

/// Converts between this machine's byte order and big-endian.
void to_or_from_big(std::int64_t size, std::int64_t count, const std::byte* from, std::byte* to) {
  if (size == 1 || std::endian::native == std::endian::big) {
    std::memcpy(to, from, static_cast<std::size_t>(size * count));
    return;
  }
  switch (size) {
    case 2: return swap_words<std::uint16_t>(count, from, to);
    case 4: return swap_words<std::uint32_t>(count, from, to);
    case 8: return swap_words<std::uint64_t>(count, from, to);
    default: break;
  }
  for (std::int64_t i = 0; i < count; ++i)
    std::reverse_copy(from + i * size, from + (i + 1) * size, to + i * size);
}

/// `size` bytes, big-endian; up to 8.
std::uint64_t load_big(const std::byte* from, int size) noexcept {
  std::uint64_t value = 0;
  for (int i = 0; i < size; ++i) value = value << 8 | std::to_integer<std::uint64_t>(from[i]);
  return value;
}
void store_big(std::byte* to, int size, std::uint64_t value) noexcept {
  for (int i = size; i-- > 0; value >>= 8) to[i] = static_cast<std::byte>(value);
}

std::uint64_t load_native(const std::byte* from, int size) noexcept {
  switch (size) {
    case 1: return load<std::uint8_t>(from);
    case 2: return load<std::uint16_t>(from);
    case 4: return load<std::uint32_t>(from);
    default: return load<std::uint64_t>(from);
  }
}
void store_native(std::byte* to, int size, std::uint64_t value) noexcept {
  switch (size) {
    case 1: return store(to, static_cast<std::uint8_t>(value));
    case 2: return store(to, static_cast<std::uint16_t>(value));
    case 4: return store(to, static_cast<std::uint32_t>(value));
    default: return store(to, value);
  }
}

/// Converts a value of `from` bytes to `to` bytes. Throws if it does not fit.
std::uint64_t resized(std::uint64_t value, int from, int to, bool has_sign, const char* where) {
  const int unused = 64 - 8 * from;
  const auto with_sign = static_cast<std::int64_t>(value << unused) >> unused;
  if (has_sign) value = static_cast<std::uint64_t>(with_sign);
  if (to >= 8) return value;
  const int bits = 8 * to;
  const bool fits =
      has_sign ? with_sign >> (bits - 1) == 0 || with_sign >> (bits - 1) == -1 : value >> bits == 0;
  if (!fits)
    throw ConversionError(
        "external32: " + (has_sign ? std::to_string(with_sign) : std::to_string(value)) +
        " does not fit the " + std::to_string(to) + " bytes that it has " + where);
  return value;
}

void check_sizes(const BasicType& type) {
  const auto is_word = [](int size) { return size == 1 || size == 2 || size == 4 || size == 8; };
  if (type.family == Family::unknown || !is_word(type.native) || !is_word(type.external))
    throw ConversionError("external32: it has no representation of a basic type of " +
                          std::to_string(type.native_size()) + " bytes that was passed");
}

bool is_true(const std::byte* number, int size) noexcept {
  return std::any_of(number, number + size, [](std::byte b) { return b != std::byte{0}; });
}

// binary128 has a sign, 15 bits of exponent and 112 of fraction. The x87 format has the same sign
// and exponent, then the leading bit, which is implicit in binary128, and 63 bits of fraction; in
// memory these are 10 bytes, little-endian, in 16.
constexpr int fraction_bits = 63;
constexpr int dropped_bits = 112 - fraction_bits;
constexpr std::uint64_t leading_bit = std::uint64_t{1} << fraction_bits;
constexpr std::uint64_t largest_exponent = 0x7fff;
constexpr int high_bits = 48;  // of the fraction, in the first word of binary128

void extended_to_quad(const std::byte* native, std::byte* external) noexcept {
  const auto mantissa = load<std::uint64_t>(native);
  std::uint64_t sign_exponent = load<std::uint16_t>(native + 8);
  const std::uint64_t fraction = mantissa & ~leading_bit;
  // With exponent 0, a set leading bit means the smallest normal exponent.
  if ((sign_exponent & largest_exponent) == 0 && (mantissa & leading_bit) != 0) ++sign_exponent;
  store_big(external, 8, sign_exponent << high_bits | fraction >> (fraction_bits - high_bits));
  store_big(external + 8, 8, fraction << dropped_bits);
}

void quad_to_extended(const std::byte* external, std::byte* native) noexcept {
  const std::uint64_t high = load_big(external, 8), low = load_big(external + 8, 8);
  std::uint64_t sign_exponent = high >> high_bits;
  const std::uint64_t exponent = sign_exponent & largest_exponent;
  const std::uint64_t all = high & ((std::uint64_t{1} << high_bits) - 1);
  std::uint64_t fraction = all << (fraction_bits - high_bits) | low >> dropped_bits;
  const std::uint64_t rest = low & ((std::uint64_t{1} << dropped_bits) - 1);
  if (exponent == largest_exponent) {
    // A NaN stays a NaN, whichever bits of it are lost.
    if ((all | low) != 0) fraction |= leading_bit >> 1;
  } else {
    constexpr std::uint64_t half = std::uint64_t{1} << (dropped_bits - 1);
    if (rest > half || (rest == half && (fraction & 1) != 0)) ++fraction;
    if ((fraction & leading_bit) != 0) {
      fraction = 0;
      ++sign_exponent;
    }
  }
  const bool is_normal = (sign_exponent & largest_exponent) != 0;
  store(native, fraction | (is_normal ? leading_bit : 0));
  store(native + 8, sign_exponent);  // and zeros in unused bytes
  static_assert(sizeof sign_exponent == 8);
}

}  // namespace

void to_external32(const BasicType& type, std::int64_t count, const std::byte* native,
                   std::byte* external) {
  const std::int64_t numbers = count * type.parts;
  const int from = type.native, to = type.external;
  const auto each = [&](auto&& convert) {
    for (std::int64_t i = 0; i < numbers; ++i) convert(native + i * from, external + i * to);
  };
  if (type.family == Family::extended) return each(extended_to_quad);
  if (type.family == Family::logical)
    return each([&](const std::byte* number, std::byte* in_file) {
      store_big(in_file, to, is_true(number, from) ? 1 : 0);
    });
  if (from == to && type.family != Family::unknown)
    return to_or_from_big(from, numbers, native, external);
  check_sizes(type);
  each([&](const std::byte* number, std::byte* in_file) {
    store_big(in_file, to,
              resized(load_native(number, from), from, to, type.family == Family::integer,
                      "in the file"));
  });
}

void from_external32(const BasicType& type, std::int64_t count, const std::byte* external,
                     std::byte* native) {
  const std::int64_t numbers = count * type.parts;
  const int from = type.external, to = type.native;
  const auto each = [&](auto&& convert) {
    for (std::int64_t i = 0; i < numbers; ++i) convert(external + i * from, native + i * to);
  };
  if (type.family == Family::extended) return each(quad_to_extended);
  if (type.family == Family::logical)
    return each([&](const std::byte* in_file, std::byte* number) {
      store_native(number, to, is_true(in_file, from) ? 1 : 0);
    });
  if (from == to && type.family != Family::unknown)
    return to_or_from_big(from, numbers, external, native);
  check_sizes(type);
  each([&](const std::byte* in_file, std::byte* number) {
    store_native(
        number, to,
        resized(load_big(in_file, from), from, to, type.family == Family::integer, "in memory"));
  });
}

}  // namespace penstock
