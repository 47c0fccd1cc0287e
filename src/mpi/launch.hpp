// Whether this process is one of several.
#pragma once

#include <optional>
#include <string>

#include "mpi/communicator.hpp"

namespace penstock {

/// One of several processes that would write a file alone.
struct LonelyWriter {
  std::string who;         // "without a communicator by one of the 4 ranks of MPI"
  std::string what_to_do;  // a sentence
  bool of_world;           // MPI itself says that there are several
};

/// Whether `comm`, which has one rank, is probably not all that the program runs on; nothing:
/// it is, or the program says so with MPI_COMM_SELF.
std::optional<LonelyWriter> find_other_ranks(const Communicator& comm);

}  // namespace penstock
