// Ranks that were refused to open a file without a communicator, while others wait for them in an
// open with one.
//
//   1. The rank that is refused may still come, so nothing is known yet. It is once that rank ends
//      MPI: from within MPI_Finalize it sends a message to the ranks 1, 2, 4, 8... behind it.
//   2. A rank that waits for the first open of a communicator, where ranks have nothing in common
//      yet, looks for such messages. It passes the first one on in the same way, so that all who
//      wait have it after a number of steps that is logarithmic in the ranks.
//   3. Where a communicator has a group, its ranks know of it by their common memory (group.hpp).
#pragma once

#include <mpi.h>

#include <string>

namespace penstock {

/// This rank, one of several of MPI_COMM_WORLD, is refused to open `path`.
void remember_refusal(const std::string& path);

/// Throws Error(state) where a rank of `comm` that was refused has ended MPI.
void throw_if_refused(MPI_Comm comm);

}  // namespace penstock
