// Numbers of basic types, as they are in memory and in external32 (MPI 4.1, section 14.5.2): two's
// complement and IEEE, the most significant byte first, without alignment.
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

/// `count` elements, one after the other on both sides, which do not overlap. Integers that do not
/// fit, and types that external32 does not have, throw ConversionError. Of a long double,
/// external32 keeps every bit; the other way it is rounded to the nearest, ties to even.
void to_external32(const BasicType& type, std::int64_t count, const std::byte* native,
                   std::byte* external);
void from_external32(const BasicType& type, std::int64_t count, const std::byte* external,
                     std::byte* native);

}  // namespace penstock
