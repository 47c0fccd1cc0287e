// Who wants something of whom, where nobody knows that beforehand.
#pragma once

#include <vector>

#include "base/task.hpp"
#include "mpi/channel.hpp"
#include "mpi/transport.hpp"

namespace penstock {

/// Sparse exchange: each rank sends its letters, knowing nothing of who writes to it, and gets
/// those addressed to it, in rank order. Costs messages only between those who talk, and one
/// agreement (Hoefler, Siebert, Lumsdaine: non-blocking consensus, PPoPP 2010). A letter to oneself
/// is delivered too. `tag` must differ between two exchanges of a channel.
Task<std::vector<Letter>> deliver(const Channel& channel, std::vector<Letter> letters, int tag);

}  // namespace penstock
