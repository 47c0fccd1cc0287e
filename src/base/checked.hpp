// Arithmetic that must not wrap: sizes of arrays come from users.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include <penstock/error.hpp>

namespace penstock {

/// Narrows, or throws: used for all conversions from 64-bit counts to the ints of MPI and the
/// system.
template <class To, class From>
To checked_cast(From value) {
  const auto narrowed = static_cast<To>(value);
  if (static_cast<From>(narrowed) != value || ((narrowed < To{}) != (value < From{})))
    throw Error(ErrorClass::internal, "value " + std::to_string(value) + " does not fit its type");
  return narrowed;
}

inline std::int64_t checked_multiply(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    throw Error(ErrorClass::argument, std::string(what) + " does not fit 64 bits: " +
                                          std::to_string(a) + " * " + std::to_string(b));
  return product;
}

inline std::int64_t checked_add(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum))
    throw Error(ErrorClass::argument, std::string(what) + " does not fit 64 bits: " +
                                          std::to_string(a) + " + " + std::to_string(b));
  return sum;
}

}  // namespace penstock
