// Functions of the MPI library at hand, where the drop-in MPI-IO has one of the same name.
#pragma once

#include <mpi.h>

namespace penstock::library {

/// The library's own PMPI_ function behind this one's. Ends the program where there is none.
void* find(const char* name);

int file_create_errhandler(MPI_File_errhandler_function* function, MPI_Errhandler* handler);

/// Another reference to an error handler of files, which the caller frees: libraries count these,
/// Open MPI those of predefined ones, too. Returns the library's code: MPI_SUCCESS, or what it says
/// of a handler that is not one of files.
int file_hold_errhandler(MPI_Errhandler handler, MPI_Errhandler* held);

/// MPI::ERRORS_THROW_EXCEPTIONS, where the library has the C++ bindings of MPI-2.
bool is_throwing_errhandler(MPI_Errhandler handler);
/// What throws then; null: the bindings do it, when a function returns an error.
MPI_File_errhandler_function* throwing_function();

}  // namespace penstock::library
