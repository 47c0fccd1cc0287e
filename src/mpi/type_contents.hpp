// How a datatype was made: MPI_Type_get_envelope and MPI_Type_get_contents, in 64-bit numbers
// whatever the constructor took. MPI-4 libraries have types whose counts do not fit an int, with
// separate calls to query them.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace penstock {

/// Not copyable: it owns the handles of derived types.
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

/// Whether the handle is that of a type, as far as the library can tell: for libraries that do not
/// check handles, properties that a freed type lacks are queried. Error handlers of communicators
/// are not called. One thread at a time.
bool is_datatype(MPI_Datatype type);
/// For a datatype; true if the library does not check that.
bool is_committed(MPI_Datatype type);

/// Whether a type is predefined; it has no contents, and is not freed.
bool is_predefined(MPI_Datatype type);
/// Whether MPI_Type_get_value_index made it: a pair of two types.
bool is_value_index(int combiner) noexcept;

/// As this MPI library computes them: libraries differ in alignment padding and in bounds that are
/// set within a struct.
struct TypeBounds {
  std::int64_t lower, extent;
};
TypeBounds bounds_of(MPI_Datatype type);
std::int64_t size_of(MPI_Datatype type);

}  // namespace penstock
