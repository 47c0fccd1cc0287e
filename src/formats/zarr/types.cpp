#include "formats/zarr/types.hpp"

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

#include <penstock/error.hpp>

namespace penstock::zarr {
namespace {

constexpr Type types[] = {{"bool", 'b', 1},      {"int8", 'i', 1},       {"int16", 'i', 2},
                          {"int32", 'i', 4},     {"int64", 'i', 8},      {"uint8", 'u', 1},
                          {"uint16", 'u', 2},    {"uint32", 'u', 4},     {"uint64", 'u', 8},
                          {"float16", 'f', 2},   {"float32", 'f', 4},    {"float64", 'f', 8},
                          {"complex64", 'c', 8}, {"complex128", 'c', 16}};

[[noreturn]] void refuse(const Json& value, const Type& type) {
  throw Error(ErrorClass::format,
              "fill_value " + shown(value) + " is none of data_type '" + type.name + "'");
}

/// IEEE 754's binary16.
constexpr int half_mantissa = 10, half_bias = 15;

std::uint64_t half_bits(double value) {
  const std::uint64_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7E00;
  if (size >= 65520) return sign | 0x7C00;
  int exponent = 0;
  std::frexp(size, &exponent);
  exponent = std::max(exponent - 1, 1 - half_bias);
  // Round to even; a mantissa overflow increments the exponent.
  const auto mantissa =
      static_cast<std::uint64_t>(std::nearbyint(std::ldexp(size, half_mantissa - exponent)));
  const std::uint64_t implied = 1U << half_mantissa;
  if (mantissa < implied) return sign | mantissa;
  return sign |
         ((static_cast<std::uint64_t>(exponent + half_bias) << half_mantissa) + mantissa - implied);
}

double half_value(std::uint64_t bits) {
  const auto exponent = static_cast<int>((bits >> half_mantissa) & 0x1F);
  const auto mantissa = static_cast<double>(bits & 0x3FF);
  double value = std::ldexp(mantissa, 1 - half_bias - half_mantissa);
  if (exponent == 0x1F)
    value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  else if (exponent > 0) value = std::ldexp(mantissa + 1024, exponent - half_bias - half_mantissa);
  return (bits & 0x8000) != 0 ? -value : value;
}

std::uint64_t float_bits(double value, int size) {
  if (size == 2) return half_bits(value);
  if (size == 4) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<std::uint64_t>(value);
}

double float_value(std::uint64_t bits, int size) {
  if (size == 2) return half_value(bits);
  if (size == 4) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return std::bit_cast<double>(bits);
}

std::uint64_t float_bits(const Json& value, const Type& type, int size) {
  if (value.is_number()) return float_bits(value.get<double>(), size);
  if (!value.is_string()) refuse(value, type);
  const auto text = value.get<std::string>();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text == "NaN") return float_bits(std::numeric_limits<double>::quiet_NaN(), size);
  if (text == "Infinity") return float_bits(infinity, size);
  if (text == "-Infinity") return float_bits(-infinity, size);
  if (!text.starts_with("0x") || text.size() != 2 + 2 * static_cast<std::size_t>(size) ||
      text.find_first_not_of("0123456789abcdefABCDEF", 2) != std::string::npos)
    refuse(value, type);
  return std::stoull(text, nullptr, 16);
}

Json float_json(std::uint64_t bits, int size) {
  const double value = float_value(bits, size);
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (!std::isnan(value)) return value;
  if (bits == float_bits(std::numeric_limits<double>::quiet_NaN(), size)) return "NaN";
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
  throw Error(ErrorClass::format, "data_type " + shown(name) +
                                      " is none that Penstock reads: bool, int8 to int64, uint8 to "
                                      "uint64, float16 to float64, complex64 and complex128");
}

const Type& type_of(const std::string& dtype) {
  for (const Type& type : types)
    if (dtype.size() > 2 && dtype[1] == type.kind && dtype.substr(2) == std::to_string(type.size))
      return type;
  throw Error(ErrorClass::argument,
              "dtype '" + dtype +
                  "' is none of a Zarr array: these have one of bool, int8 to "
                  "int64, uint8 to uint64, float16 to float64, complex64 and "
                  "complex128");
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
  const int half = type.size / 2;
  switch (type.kind) {
    case 'b': return bits != 0;
    case 'u': return bits;
    case 'f': return float_json(bits, type.size);
    case 'c':
      return Json::array({float_json(bits_at(fill, 0, half, little), half),
                          float_json(bits_at(fill, half, half, little), half)});
    default: break;
  }
  const int unused = 64 - 8 * type.size;
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

}  // namespace penstock::zarr
