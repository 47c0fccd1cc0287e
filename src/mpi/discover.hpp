// Sparse exchange of request descriptors: a rank does not know in advance which ranks send to it.
#pragma once

#include <vector>

#include "base/task.hpp"
#include "mpi/channel.hpp"
#include "mpi/transport.hpp"

namespace penstock {

/// Each rank passes descriptors with their destination ranks, and gets those sent to it, with their
/// source ranks, in rank order; including one to itself. Costs one message per descriptor to
/// another rank, and one agreement (Hoefler, Siebert, Lumsdaine: non-blocking consensus, PPoPP
/// 2010). `tag` must differ between two exchanges of a channel.
Task<std::vector<RequestDescriptor>> exchange_descriptors(
    const Channel& channel, std::vector<RequestDescriptor> descriptors, int tag);

}  // namespace penstock
