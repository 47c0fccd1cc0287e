#include "formats/zarr/types.hpp"

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include <penstock/error.hpp>

namespace penstock::zarr {
namespace {

constexpr FloatFormat half{5, 10, 15, Special::ieee};

/// The last ones are of zarr-extensions: those of ml_dtypes that have whole bytes.
constexpr Type types[] = {{"bool", 'b', 1},
                          {"int8", 'i', 1},
                          {"int16", 'i', 2},
                          {"int32", 'i', 4},
                          {"int64", 'i', 8},
                          {"uint8", 'u', 1},
                          {"uint16", 'u', 2},
                          {"uint32", 'u', 4},
                          {"uint64", 'u', 8},
                          {"float16", 'f', 2, half},
                          {"float32", 'f', 4},
                          {"float64", 'f', 8},
                          {"complex64", 'c', 8},
                          {"complex128", 'c', 16},
                          {"bfloat16", 'f', 2, {8, 7, 127, Special::ieee}, false},
                          {"float8_e3m4", 'f', 1, {3, 4, 3, Special::ieee}, false},
                          {"float8_e4m3", 'f', 1, {4, 3, 7, Special::ieee}, false},
                          {"float8_e4m3b11fnuz", 'f', 1, {4, 3, 11, Special::one_nan}, false},
                          {"float8_e4m3fn", 'f', 1, {4, 3, 7, Special::no_infinity}, false},
                          {"float8_e4m3fnuz", 'f', 1, {4, 3, 8, Special::one_nan}, false},
                          {"float8_e5m2", 'f', 1, {5, 2, 15, Special::ieee}, false},
                          {"float8_e5m2fnuz", 'f', 1, {5, 2, 16, Special::one_nan}, false},
                          {"float8_e8m0fnu", 'f', 1, {8, 0, 127, Special::power_of_two}, false}};

constexpr const char* known =
    "bool, int8 to int64, uint8 to uint64, float16 to float64, complex64, complex128, bfloat16 and "
    "float8_*";

[[noreturn]] void refuse(const Json& value, const Type& type) {
  throw Error(ErrorClass::format,
              "fill_value " + shown(value) + " is none of data_type '" + type.name + "'");
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::uint64_t ones(int count) {
  return (std::uint64_t{1} << count) - 1;
}

/// Of bits without a sign, as if none were special.
double magnitude(std::uint64_t bits, const FloatFormat& format) {
  const auto exponent = static_cast<int>(bits >> format.mantissa);
  const auto mantissa = static_cast<double>(bits & ones(format.mantissa));
  if (format.special == Special::power_of_two) return std::ldexp(1, exponent - format.bias);
  if (exponent == 0) return std::ldexp(mantissa, 1 - format.bias - format.mantissa);
  return std::ldexp(mantissa + std::ldexp(1, format.mantissa),
                    exponent - format.bias - format.mantissa);
}

/// The one that is written.
std::uint64_t nan_of(const FloatFormat& format) {
  const int bits = format.exponent + format.mantissa;
  switch (format.special) {
    case Special::ieee: return ones(format.exponent + 1) << (format.mantissa - 1);
    case Special::one_nan: return std::uint64_t{1} << bits;
    default: return ones(bits);
  }
}

/// The largest without a sign that is a number; with ieee the infinity after that.
std::uint64_t last_of(const FloatFormat& format) {
  const std::uint64_t all = ones(format.exponent + format.mantissa);
  switch (format.special) {
    case Special::ieee: return ones(format.exponent) << format.mantissa;
    case Special::one_nan: return all;
    default: return all - 1;
  }
}

/// Rounded to even. Nothing where the format has no such number.
std::optional<std::uint64_t> bits_of(double value, const FloatFormat& format) {
  if (std::isnan(value)) return nan_of(format);
  const double size = std::fabs(value);
  const std::uint64_t last = last_of(format);
  const bool too_large = format.special != Special::ieee && size > magnitude(last, format);
  if (too_large || (format.special == Special::power_of_two && value <= 0)) return std::nullopt;
  std::uint64_t low = 0, high = last;
  while (low < high) {
    const std::uint64_t middle = (low + high + 1) / 2;
    if (magnitude(middle, format) <= size) low = middle;
    else high = middle - 1;
  }
  if (low < last) {
    const double below = size - magnitude(low, format), above = magnitude(low + 1, format) - size;
    if (above < below || (above == below && low % 2 == 1)) ++low;
  }
  const bool negative = std::signbit(value) && !(format.special == Special::one_nan && low == 0);
  return low | (negative ? std::uint64_t{1} << (format.exponent + format.mantissa) : 0);
}

double value_of(std::uint64_t bits, const FloatFormat& format) {
  const int width = format.exponent + format.mantissa;
  const std::uint64_t unsigned_bits = bits & ones(width);
  if (format.special == Special::one_nan && bits == nan_of(format)) return nan;
  const std::uint64_t last = last_of(format);
  if (unsigned_bits > last) return nan;
  const double size = format.special == Special::ieee && unsigned_bits == last
                          ? infinity
                          : magnitude(unsigned_bits, format);
  return (bits >> width) != 0 ? -size : size;
}

std::optional<std::uint64_t> float_bits(double value, const Type& type, int size) {
  if (type.format.exponent != 0) return bits_of(value, type.format);
  if (size == 4) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<std::uint64_t>(value);
}

double float_value(std::uint64_t bits, const Type& type, int size) {
  if (type.format.exponent != 0) return value_of(bits, type.format);
  if (size == 4) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return std::bit_cast<double>(bits);
}

std::uint64_t float_bits(const Json& value, const Type& type, int size) {
  const auto number = [&](double given) {
    const std::optional<std::uint64_t> bits = float_bits(given, type, size);
    if (!bits) refuse(value, type);
    return *bits;
  };
  if (value.is_number()) return number(value.get<double>());
  if (!value.is_string()) refuse(value, type);
  const auto text = value.get<std::string>();
  if (text == "NaN") return number(nan);
  if (text == "Infinity") return number(infinity);
  if (text == "-Infinity") return number(-infinity);
  if (!text.starts_with("0x") || text.size() != 2 + 2 * static_cast<std::size_t>(size) ||
      text.find_first_not_of("0123456789abcdefABCDEF", 2) != std::string::npos)
    refuse(value, type);
  return std::stoull(text, nullptr, 16);
}

Json float_json(std::uint64_t bits, const Type& type, int size) {
  const double value = float_value(bits, type, size);
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (!std::isnan(value)) return value;
  if (bits == float_bits(nan, type, size)) return "NaN";
  char text[24];
  std::snprintf(text, sizeof text, "0x%0*llx", 2 * size, static_cast<unsigned long long>(bits));
  return text;
}

std::uint64_t whole_bits(const Json& value, const Type& type) {
  if (!value.is_number_integer()) refuse(value, type);
  const int bits = 8 * type.size;
  if (type.kind == 'u') {
    if (!value.is_number_unsigned()) refuse(value, type);
    const auto number = value.get<std::uint64_t>();
    if (bits < 64 && number >> bits != 0) refuse(value, type);
    return number;
  }
  const bool large = value.is_number_unsigned() &&
                     value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max();
  const auto number = large ? 0 : value.get<std::int64_t>();
  const std::int64_t limit = std::numeric_limits<std::int64_t>::max() >> (64 - bits);
  if (large || number > limit || number < -limit - 1) refuse(value, type);
  return static_cast<std::uint64_t>(number);
}

void append(std::vector<std::byte>& bytes, std::uint64_t bits, int size, bool little) {
  for (int i = 0; i < size; ++i)
    bytes.push_back(static_cast<std::byte>(bits >> (8 * (little ? i : size - 1 - i))));
}

std::uint64_t bits_at(std::span<const std::byte> bytes, int begin, int size, bool little) {
  std::uint64_t bits = 0;
  for (int i = 0; i < size; ++i)
    bits |= std::to_integer<std::uint64_t>(
                bytes[static_cast<std::size_t>(begin) + static_cast<std::size_t>(i)])
            << (8 * (little ? i : size - 1 - i));
  return bits;
}

}  // namespace

const Type& type_named(const std::string& name) {
  for (const Type& type : types)
    if (name == type.name) return type;
  throw Error(ErrorClass::format,
              "data_type " + shown(name) + " is none that Penstock reads: " + known);
}

const Type& type_of(const std::string& dtype) {
  const std::string text = dtype.substr(dtype.find_first_of("<>|=") == 0 ? 1 : 0);
  for (const Type& type : types)
    if (type.is_numpy ? text == type.kind + std::to_string(type.size) : text == type.name)
      return type;
  throw Error(ErrorClass::argument,
              "dtype '" + dtype + "' is none of a Zarr array: these have one of " + known);
}

std::string dtype_of(const Type& type, bool little) {
  const std::string order = little ? "<" : ">";
  if (!type.is_numpy) return (little || type.size == 1 ? "" : order) + type.name;
  return (type.size == 1 ? "|" : order) + type.kind + std::to_string(type.size);
}

std::vector<std::byte> fill_of(const Json& value, const Type& type, bool little) {
  std::vector<std::byte> bytes;
  if (type.kind == 'b') {
    if (!value.is_boolean()) refuse(value, type);
    append(bytes, value.get<bool>() ? 1 : 0, 1, little);
  } else if (type.kind == 'f') {
    append(bytes, float_bits(value, type, type.size), type.size, little);
  } else if (type.kind == 'c') {
    if (!value.is_array() || value.size() != 2) refuse(value, type);
    for (const Json& part : value)
      append(bytes, float_bits(part, type, type.size / 2), type.size / 2, little);
  } else {
    append(bytes, whole_bits(value, type), type.size, little);
  }
  return bytes;
}

Json json_of(std::span<const std::byte> fill, const Type& type, bool little) {
  const std::uint64_t bits = bits_at(fill, 0, std::min(type.size, 8), little);
  const int part = type.size / 2;
  switch (type.kind) {
    case 'b': return bits != 0;
    case 'u': return bits;
    case 'f': return float_json(bits, type, type.size);
    case 'c':
      return Json::array({float_json(bits_at(fill, 0, part, little), type, part),
                          float_json(bits_at(fill, part, part, little), type, part)});
    default: break;
  }
  const int unused = 64 - 8 * type.size;
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

}  // namespace penstock::zarr
