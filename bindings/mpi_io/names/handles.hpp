// File handles: the values of MPI_File under the drop-in MPI-IO.
#pragma once

#include <mpi.h>

#include <memory>

#include "mpi_io/mpi_file.hpp"

namespace penstock::dropin {

MPI_File make_handle(std::shared_ptr<MpiFile> file);
/// Null if it is not an open file.
std::shared_ptr<MpiFile> file_of(MPI_File handle) noexcept;
void free_handle(MPI_File handle) noexcept;
int to_fortran(MPI_File handle) noexcept;
MPI_File from_fortran(int index) noexcept;

}  // namespace penstock::dropin
