// Datatypes of MPI for a section of an array, as a program in C makes them. Not through mpi4py:
// with an MPI-4 library it calls the constructors for large counts, and the MPI-IO of MPICH 4.0
// aborts at types that these have made.
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

/// The file type of a view, and where it begins in the file.
struct FileType {
  Datatype type;
  MPI_Offset displacement = 0;
};

/// A subarray where the section has no strides, else vectors of blocks, one within the other.
FileType file_type_of(const Section& section, const std::vector<std::int64_t>& shape,
                      MPI_Datatype element);
/// `shape` elements from `starts` on in memory that is an array of `outer`; of contiguous ones a
/// type that MPI knows to be contiguous.
Datatype memory_type_of(const std::vector<std::int64_t>& outer,
                        const std::vector<std::int64_t>& shape,
                        const std::vector<std::int64_t>& starts, MPI_Datatype element);

}  // namespace penstock::python
