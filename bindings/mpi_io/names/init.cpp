// MPI_Init: with PENSTOCK_PROGRESS_THREAD=1, MPI is initialised with MPI_THREAD_MULTIPLE, so that a
// thread may progress non-blocking calls (mpi_io/progress_thread.hpp).
#include <cstdlib>
#include <string_view>

#include "mpi/library.hpp"
#include "mpi_io/names/export.hpp"

namespace {

bool wants_thread() {
  const char* const value = std::getenv("PENSTOCK_PROGRESS_THREAD");
  return value != nullptr && std::string_view(value) == "1";
}

int init_thread(int* argc, char*** argv, int required, int* provided) {
  static const auto real =
      reinterpret_cast<decltype(&PMPI_Init_thread)>(penstock::library::find("PMPI_Init_thread"));
  return real(argc, argv, required, provided);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int PMPI_Init(int* argc, char*** argv) {
  static const auto real =
      reinterpret_cast<decltype(&PMPI_Init)>(penstock::library::find("PMPI_Init"));
  int provided = 0;
  return wants_thread() ? init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided)
                        : real(argc, argv);
}

int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return init_thread(argc, argv, wants_thread() ? MPI_THREAD_MULTIPLE : required, provided);
}

}  // extern "C"
#pragma GCC visibility pop

PENSTOCK_MPI_NAME(MPI_Init);
PENSTOCK_MPI_NAME(MPI_Init_thread);
