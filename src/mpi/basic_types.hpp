// Basic types: the predefined datatypes that others are made of, with their formats in memory and
// in external32 (MPI 4.1, section 14.5.2). Which of them exist, and their handles, differ between
// MPI libraries.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

namespace penstock {

/// One element of a basic type: `parts` numbers (a complex one has two) of `native` bytes each in
/// memory and `external` bytes each in external32.
struct BasicType {
  enum class Family : std::uint8_t {
    bytes,     // the same everywhere
    integer,   // signed, two's complement
    natural,   // unsigned
    logical,   // 0 is false, everything else is true
    floating,  // IEEE, of the same size in memory
    extended,  // x87's 80 bits in memory, binary128 in external32
    unknown,   // not in external32
  };
  Family family = Family::bytes;
  std::uint8_t parts = 1, native = 1, external = 1;

  std::int64_t native_size() const noexcept { return std::int64_t{parts} * native; }
  std::int64_t external_size() const noexcept { return std::int64_t{parts} * external; }
  friend bool operator==(const BasicType&, const BasicType&) = default;
};

struct PredefinedType {
  MPI_Datatype type;
  BasicType basic;
};

/// A value and an index, as MPI_MINLOC takes them: a C struct of both, including padding.
struct PairType {
  MPI_Datatype type, value, index;
};

/// Those that this MPI library has, in the order of their handles (std::less). MPI must have been
/// initialised.
std::span<const PredefinedType> predefined_types();
std::span<const PairType> pair_types();

/// For a predefined type that is not among these: `size` bytes.
BasicType unknown_type(std::int64_t size);

/// For MPI_Type_create_f90_real (or _complex, with two parts) with `precision` decimal digits and
/// numbers up to 10^range. `native`: bytes of a part.
BasicType f90_real(std::int64_t precision, std::int64_t range, int parts, std::int64_t native);
BasicType f90_integer(std::int64_t range, std::int64_t native);

/// The bounds that MPI-1 put into a type map as elements of no size: null handles if the library
/// has removed them.
struct BoundMarkers {
  MPI_Datatype lower, upper;
};
BoundMarkers bound_markers() noexcept;

}  // namespace penstock
