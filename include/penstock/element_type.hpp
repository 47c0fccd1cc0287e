// Types of elements, in memory and in files, and conversions between them.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>

#include <penstock/export.hpp>

namespace penstock {

/// The NumPy name of T ("<f8"): a number, a complex number or bool. Empty for std::byte and other
/// non-arithmetic types of one byte: memory with the file's elements of any type.
template <class T>
std::string dtype_of() {
  using Bare = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<Bare, std::byte>) return {};
  else {
    static_assert(std::is_arithmetic_v<Bare> || std::is_same_v<Bare, std::complex<float>> ||
                      std::is_same_v<Bare, std::complex<double>>,
                  "elements are numbers, complex numbers, bool or std::byte");
    static_assert(sizeof(Bare) <= 8 || !std::is_floating_point_v<Bare>,
                  "long double has another layout on each machine: convert it first");
    const char kind = std::is_same_v<Bare, bool>       ? 'b'
                      : std::is_floating_point_v<Bare> ? 'f'
                      : !std::is_arithmetic_v<Bare>    ? 'c'
                      : std::is_signed_v<Bare>         ? 'i'
                                                       : 'u';
    const bool little = std::endian::native == std::endian::little;
    const char order = sizeof(Bare) == 1 ? '|' : little ? '<' : '>';
    return std::string{order, kind} + std::to_string(sizeof(Bare));
  }
}

/// Whether elements of `from` can be converted to `to` without loss other than precision: "<i4" to
/// "<f8" and "<f8" to ">f4" can, "<f8" to "<i4" cannot. Equal types always can.
PENSTOCK_EXPORT bool converts(const std::string& from, const std::string& to);

}  // namespace penstock
