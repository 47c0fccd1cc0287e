// Whether this process is one of several.
#pragma once

#include <optional>
#include <string>

#include "mpi/communicator.hpp"

namespace penstock {

/// Why `comm`, which has one rank, is probably not all that the program runs on, in words; nothing:
/// it is, or the program says so with MPI_COMM_SELF.
std::optional<std::string> find_other_ranks(const Communicator& comm);

}  // namespace penstock
