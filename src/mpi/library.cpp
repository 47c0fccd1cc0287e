#include "mpi/library.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace penstock::library {

void* find(const char* name) {
  if (void* const function = ::dlsym(RTLD_NEXT, name)) return function;
  std::fprintf(stderr,
               "penstock: the MPI library that was loaded has no %s; preload the drop-in MPI-IO "
               "together with the program (penstock run)\n",
               name);
  std::abort();
}

int file_create_errhandler(MPI_File_errhandler_function* function, MPI_Errhandler* handler) {
  static const auto real =
      reinterpret_cast<decltype(&PMPI_File_create_errhandler)>(find("PMPI_File_create_errhandler"));
  return real(function, handler);
}

MPI_Errhandler handle_of_predefined(MPI_Errhandler handler) {
  static const auto set =
      reinterpret_cast<decltype(&PMPI_File_set_errhandler)>(find("PMPI_File_set_errhandler"));
  static const auto get =
      reinterpret_cast<decltype(&PMPI_File_get_errhandler)>(find("PMPI_File_get_errhandler"));
  static std::mutex mutex;
  const std::lock_guard guard(mutex);
  MPI_Errhandler handle = handler;
  if (set(MPI_FILE_NULL, handler) != MPI_SUCCESS || get(MPI_FILE_NULL, &handle) != MPI_SUCCESS)
    return handler;
  return handle;
}

}  // namespace penstock::library
