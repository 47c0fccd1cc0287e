#include "mpi/finalize.hpp"

#include <mpi.h>

#include "mpi/communicator.hpp"
#include "mpi/group.hpp"

namespace penstock {
namespace {

void (*finish_process)() noexcept = nullptr;

int finish(MPI_Comm, int, void*, void*) {
  if (!Communicator::mpi_is_running()) return MPI_SUCCESS;  // a forked child
  finish_process();
  Group::release_all();
  return MPI_SUCCESS;
}

}  // namespace

/// MPI-4.1, section 11.2.4 (Allowing User Functions at Process Termination): attributes of
/// MPI_COMM_SELF are deleted before anything else in MPI_Finalize.
void finish_before_mpi_does(void (*finish_first)() noexcept) {
  static const bool done = [&] {
    finish_process = finish_first;
    int key = MPI_KEYVAL_INVALID;
    if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &finish, &key, nullptr) == MPI_SUCCESS)
      MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace penstock
