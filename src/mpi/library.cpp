#include "mpi/library.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "mpi/errors_returned.hpp"

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

namespace {

/// For libraries that do not count references to these. MPICH 4.0 ends the program if a file gets
/// MPI_ERRORS_ABORT.
bool is_not_counted(MPI_Errhandler handler) {
#ifdef OPEN_MPI
  static_cast<void>(handler);
  return false;
#else
#ifdef MPI_ERRORS_ABORT
  if (handler == MPI_ERRORS_ABORT) return true;
#endif
  return handler == MPI_ERRORS_RETURN || handler == MPI_ERRORS_ARE_FATAL;
#endif
}

}  // namespace

/// Uses the library's own handler of MPI_FILE_NULL, which nothing else uses.
int file_hold_errhandler(MPI_Errhandler handler, MPI_Errhandler* held) {
  if (is_not_counted(handler)) {
    *held = handler;
    return MPI_SUCCESS;
  }
  static const auto set =
      reinterpret_cast<decltype(&PMPI_File_set_errhandler)>(find("PMPI_File_set_errhandler"));
  static const auto get =
      reinterpret_cast<decltype(&PMPI_File_get_errhandler)>(find("PMPI_File_get_errhandler"));
  const ErrorsReturned guard;  // and serialises threads
  int code = set(MPI_FILE_NULL, handler);
  if (code != MPI_SUCCESS) return code;
  code = get(MPI_FILE_NULL, held);
  set(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  return code;
}

bool is_throwing_errhandler(MPI_Errhandler handler) {
#if defined(MPIR_ERRORS_THROW_EXCEPTIONS)
  return handler == MPIR_ERRORS_THROW_EXCEPTIONS;
#elif defined(OPEN_MPI)
  static const void* const throwing = ::dlsym(RTLD_DEFAULT, "ompi_mpi_errors_throw_exceptions");
  return throwing != nullptr && handler == throwing;
#else
  static_cast<void>(handler);
  return false;
#endif
}

MPI_File_errhandler_function* throwing_function() {
  return reinterpret_cast<MPI_File_errhandler_function*>(
      ::dlsym(RTLD_DEFAULT, "ompi_mpi_cxx_file_throw_excptn_fctn"));
}

}  // namespace penstock::library
