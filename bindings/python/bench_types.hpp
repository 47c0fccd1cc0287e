// MPI datatypes for a section of an array, made as in a C program. Not by mpi4py: with an MPI-4
// library it calls the constructors for large counts, and the MPI-IO of MPICH 4.0 aborts at such
// types.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <utility>
#include <vector>

#include <penstock/section.hpp>

namespace penstock::python {

/// A committed datatype, freed with this object unless MPI has been finalized by then.
class Datatype {
 public:
  Datatype() = default;
  explicit Datatype(MPI_Datatype made);
  Datatype(Datatype&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  Datatype& operator=(Datatype&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  ~Datatype();
  MPI_Datatype get() const noexcept { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// The file type of a view, and its displacement.
struct FileType {
  Datatype type;
  MPI_Offset displacement = 0;
};

/// A subarray if the section has no strides, else nested vectors of blocks.
FileType file_type_of(const Section& section, const std::vector<std::int64_t>& shape,
                      MPI_Datatype element);
/// `shape` elements from `starts` on in memory that is an array of `outer`; for contiguous ones a
/// type that MPI knows to be contiguous.
Datatype memory_type_of(const std::vector<std::int64_t>& outer,
                        const std::vector<std::int64_t>& shape,
                        const std::vector<std::int64_t>& starts, MPI_Datatype element);

}  // namespace penstock::python
