// How a datatype was made: MPI_Type_get_envelope and MPI_Type_get_contents, in 64-bit numbers
// whatever the constructor took. Libraries of MPI-4 have types whose counts fit no int, and tell
// them by calls of their own.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace penstock {

/// Values are never copied: the handles of derived types belong to this object.
class TypeContents {
 public:
  /// Throws Error(argument) for MPI_DATATYPE_NULL.
  explicit TypeContents(MPI_Datatype type);
  TypeContents(const TypeContents&) = delete;
  ~TypeContents();

  int combiner() const noexcept { return combiner_; }
  /// Integers, addresses and counts in the order in which MPI_Type_get_contents (MPI 4.1, section
  /// 5.1.13) lists them for the constructor that takes ints; so of MPI_Type_create_subarray_c, too.
  const std::vector<std::int64_t>& numbers() const noexcept { return numbers_; }
  const std::vector<MPI_Datatype>& types() const noexcept { return types_; }

 private:
  int combiner_ = 0;
  std::vector<std::int64_t> numbers_;
  std::vector<MPI_Datatype> types_, owned_;
};

/// Whether the handle is that of a type, as far as the library can tell: libraries that check no
/// handles are asked for what a type that was freed has no more. Error handlers of communicators
/// are not called. One thread at a time.
bool is_datatype(MPI_Datatype type);
/// Of a datatype; true where the library does not check that.
bool is_committed(MPI_Datatype type);

/// Of a type that is predefined; it has no contents, and is not freed.
bool is_predefined(MPI_Datatype type);
/// Whether MPI_Type_get_value_index has made it: a pair of two types.
bool is_value_index(int combiner) noexcept;

/// As this MPI library says: what it does with gaps of alignment and with bounds that are set
/// within a struct differs.
struct TypeBounds {
  std::int64_t lower, extent;
};
TypeBounds bounds_of(MPI_Datatype type);
std::int64_t size_of(MPI_Datatype type);

}  // namespace penstock
