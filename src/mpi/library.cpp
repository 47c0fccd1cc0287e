#include "mpi/library.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

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

}  // namespace penstock::library
