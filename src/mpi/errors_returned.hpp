// Whether a handle is valid only MPI can say, and by an error.
#pragma once

#include <mpi.h>

#include <mutex>

namespace penstock {

/// While one exists, MPI calls with a handle that is not valid return an error. Such errors concern
/// no communicator: MPI 3 calls the error handler of MPI_COMM_WORLD for them, MPI 4 that of
/// MPI_COMM_SELF. Afterwards the program's handlers are what they were.
class ErrorsReturned {
 public:
  ErrorsReturned();
  ErrorsReturned(const ErrorsReturned&) = delete;
  ~ErrorsReturned();

 private:
  std::unique_lock<std::mutex> turn_;  // handlers are the process's
  MPI_Comm comms_[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  MPI_Errhandler before_[2];
  bool replaced_[2];
};

}  // namespace penstock
