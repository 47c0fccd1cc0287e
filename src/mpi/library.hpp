// Functions of the MPI library in use, where the drop-in MPI-IO defines one of the same name.
#pragma once

#include <mpi.h>

namespace penstock::library {

/// The library's PMPI_ function hidden by this one. Ends the program if there is none.
void* find(const char* name);

int file_create_errhandler(MPI_File_errhandler_function* function, MPI_Errhandler* handler);

/// Takes another reference to an error handler of files, which the caller frees: libraries count
/// these, Open MPI also those of predefined ones. Returns the library's code: MPI_SUCCESS, or its
/// error for a handler that is not one of files.
int file_hold_errhandler(MPI_Errhandler handler, MPI_Errhandler* held);

/// MPI::ERRORS_THROW_EXCEPTIONS, if the library has the C++ bindings of MPI-2.
bool is_throwing_errhandler(MPI_Errhandler handler);
/// The function that throws then; null: the bindings throw when a function returns an error.
MPI_File_errhandler_function* throwing_function();

}  // namespace penstock::library
