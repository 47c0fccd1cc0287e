// Defects of MPI libraries: tests that compare with them skip these cases, with these libraries
// only.
#pragma once

#include <mpi.h>

#include "random_types.hpp"

namespace type_test {

constexpr bool is_mpich = !is_open_mpi;
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
constexpr bool is_open_mpi_5 = true;
#else
constexpr bool is_open_mpi_5 = false;
#endif
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 50000000
constexpr bool is_mpich_4 = true;
#else
constexpr bool is_mpich_4 = false;
#endif

/// Whether MPI_Pack_external follows the standard, and does not end the program.
inline bool packs_external(const penstock::BasicType& type) {
  using Family = penstock::BasicType::Family;
  // MPICH 5 aborts on LOGICAL1 to LOGICAL8, REAL2, COMPLEX4 and WCHAR.
  if (is_mpich && type.family == Family::logical) return false;
  if (is_mpich && type.family == Family::floating && type.native == 2) return false;
  // MPICH 4 swaps the bytes of both parts of a Fortran complex number as one.
  if (is_mpich_4 && type.parts == 2) return false;
  // In MPICH 5 CXX_LONG_DOUBLE_COMPLEX differs from C_LONG_DOUBLE_COMPLEX.
  if (is_mpich && type.family == Family::extended) return type.parts == 1;
  // Open MPI 4 and 5 write wide characters in 4 bytes, and are wrong about all reals of 16.
  const bool wide = type.native == 4 && type.external == 2;
  const bool real = type.family == Family::floating || type.family == Family::extended;
  return !wide && (is_mpich || !real || type.native < 16);
}
/// MPICH 5 dies of SIGILL if there is nothing to pack.
constexpr bool packs_external_nothing = !is_mpich;

/// MPICH 5 crashes on pairs, structs and darrays within other types, and aborts on the types of
/// MPI_Type_create_f90_...; for Open MPI an integer of 18 digits is a long, of 4 bytes.
inline bool packs_external(const Drawn& drawn) {
  return !drawn.f90 && (!is_mpich || !(drawn.pairs || drawn.structs || drawn.darrays));
}

/// MPICH 4 and 5 move only 10 bytes of every 16-byte type in strided ones, as if it were a long
/// double, which damages INTEGER16, REAL16 and COMPLEX32. Open MPI 5 moves 10 bytes of long
/// doubles, and takes complex numbers from wrong places: the second block of an indexed type of
/// structs of one double complex number from 8 bytes before it.
inline bool moves_every_byte(const penstock::BasicType& type) {
  if (is_mpich) return type.native < 16;
  return !is_open_mpi_5 || (type.parts == 1 && type.native < 16);
}

/// MPICH 5 divides by zero in MPI_Get_elements of types that are made of structs or pairs, and
/// aborts on darrays; for Open MPI a pair is one element and not two.
inline bool counts_elements(const Drawn& drawn) {
  return !drawn.pairs && !(is_mpich && (drawn.structs || drawn.darrays));
}

/// In MPICH 5, bounds set in one part of a struct do not take precedence over those of the others
/// (MPI 4.1, section 5.1.6).
inline bool joins_bounds(const Drawn& drawn) {
  return !(is_mpich && drawn.structs);
}

}  // namespace type_test
