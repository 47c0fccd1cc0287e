// Functions of the MPI library at hand, where the drop-in MPI-IO has one of the same name.
#pragma once

#include <mpi.h>

namespace penstock::library {

/// The library's own PMPI_ function behind this one's. Ends the program where there is none.
void* find(const char* name);

int file_create_errhandler(MPI_File_errhandler_function* function, MPI_Errhandler* handler);

/// A handle of a predefined error handler that the caller frees: Open MPI counts these handles, and
/// frees the handler itself with the last one. Goes by way of the library's own handler of
/// MPI_FILE_NULL.
MPI_Errhandler handle_of_predefined(MPI_Errhandler handler);

}  // namespace penstock::library
