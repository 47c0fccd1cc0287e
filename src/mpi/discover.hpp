// Sparse exchange of request descriptors: a rank does not know in advance which ranks send to it.
#pragma once

#include <vector>

#include "base/task.hpp"
#include "mpi/channel.hpp"
#include "mpi/transport.hpp"

namespace penstock {

/// Each rank passes descriptors with the ranks that they go to, and gets those that were sent to
/// it, with the ranks that sent them, in rank order; one to itself is among them. Costs one message
/// for each descriptor to another rank, and one agreement (Hoefler, Siebert, Lumsdaine:
/// non-blocking consensus, PPoPP 2010). `tag` must differ between two exchanges of a channel.
Task<std::vector<RequestDescriptor>> exchange_descriptors(
    const Channel& channel, std::vector<RequestDescriptor> descriptors, int tag);

}  // namespace penstock
