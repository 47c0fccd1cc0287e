#include "file/process.hpp"

#include <pthread.h>

#include <cstdlib>

#include "mpi/communicator.hpp"
#include "trace/trace.hpp"

namespace penstock {

BackgroundIo& background_of_process() {
  // Never destroyed: files of static storage duration may still be closed at exit.
  static BackgroundIo* const background = [] {
    std::atexit([] { background_of_process().finish(); });
    ::pthread_atfork([] { background_of_process().lock_for_fork(); },
                     [] { background_of_process().unlock_after_fork(); },
                     [] { background_of_process().forget_after_fork(); });
    return new BackgroundIo;
  }();
  return *background;
}

Listener* listener_of(const std::string& path) {
  trace::Trace* const trace = trace::of_process();
  if (trace == nullptr) return nullptr;
  int rank = -1, ranks = 0;
  if (Communicator::mpi_is_running()) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    trace->set_rank(rank, ranks);
  }
  return trace->listener(path);
}

}  // namespace penstock
