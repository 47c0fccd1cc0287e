// Only MPI can check whether a handle is valid, and it reports that by an error.
#pragma once

#include <mpi.h>

#include <mutex>

namespace penstock {

/// While one exists, MPI calls with an invalid handle return an error. Such errors belong to no
/// communicator: MPI 3 calls the error handler of MPI_COMM_WORLD for them, MPI 4 that of
/// MPI_COMM_SELF. The program's handlers are restored afterwards.
class ErrorsReturned {
 public:
  ErrorsReturned();
  ErrorsReturned(const ErrorsReturned&) = delete;
  ~ErrorsReturned();

 private:
  std::unique_lock<std::mutex> turn_;  // handlers are global to the process
  MPI_Comm comms_[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  MPI_Errhandler before_[2];
  bool replaced_[2];
};

}  // namespace penstock
