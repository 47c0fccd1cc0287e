// Conversion of basic types between memory and external32 (MPI 4.1, section 14.5.2): two's
// complement and IEEE, big-endian, unaligned.
#pragma once

#include <cstddef>

#include <penstock/error.hpp>

#include "mpi/basic_types.hpp"

namespace penstock {

/// A value that the other representation cannot hold: MPI_ERR_CONVERSION.
class ConversionError : public Error {
 public:
  explicit ConversionError(const std::string& message)
      : Error(ErrorClass::argument, "MPI_ERR_CONVERSION: " + message) {}
};

/// `count` contiguous elements on both sides, which must not overlap. Throws ConversionError for
/// integers that do not fit, and types that external32 does not have. external32 keeps every bit of
/// a long double; in the other direction it is rounded to nearest, ties to even.
void to_external32(const BasicType& type, std::int64_t count, const std::byte* native,
                   std::byte* external);
void from_external32(const BasicType& type, std::int64_t count, const std::byte* external,
                     std::byte* native);

}  // namespace penstock
