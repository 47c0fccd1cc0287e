// Basic types: the predefined datatypes that others are made of, with what each is in memory and in
// external32 (MPI 4.1, section 14.5.2). Which of them exist, and their handles, differ between MPI
// libraries.
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
    integer,   // with a sign, two's complement
    natural,   // without one
    logical,   // 0 is false, everything else is true
    floating,  // IEEE, of the same size in memory
    extended,  // the 80 bits of x87 in memory, binary128 in external32
    unknown,   // external32 does not have it
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

/// A value and an index, as MPI_MINLOC takes them: a C struct of both, with its gap.
struct PairType {
  MPI_Datatype type, value, index;
};

/// Those that this MPI library has, in the order of their handles (std::less). MPI must have been
/// started.
std::span<const PredefinedType> predefined_types();
std::span<const PairType> pair_types();

/// For a predefined type that is none of these: `size` bytes.
BasicType unknown_type(std::int64_t size);

/// Of MPI_Type_create_f90_real (or _complex, with two parts) for `precision` decimal digits and
/// numbers up to 10^range. `native`: bytes of a part.
BasicType f90_real(std::int64_t precision, std::int64_t range, int parts, std::int64_t native);
BasicType f90_integer(std::int64_t range, std::int64_t native);

/// The bounds that MPI-1 put into a type map as elements of no size: null handles where the library
/// does not have them any more.
struct BoundMarkers {
  MPI_Datatype lower, upper;
};
BoundMarkers bound_markers() noexcept;

}  // namespace penstock
