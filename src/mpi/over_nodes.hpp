// Between nodes: what goes from one to all, in messages between the first ranks of the nodes (or
// between all ranks, where those of a node share no memory). Takes a number of steps that is
// logarithmic in their number. Messages bear the channel's tag for agreements and arrive in the
// order in which they are sent, so agreements of one call do not mix either.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/task.hpp"
#include "mpi/channel.hpp"

namespace penstock {

/// Joins what is of a higher node into what is of a lower one: associative, as long on all nodes.
using JoinBytes = void (*)(std::span<std::byte> lower, std::span<const std::byte> higher);

/// The bytes of all nodes joined, on all of them. On one rank of each node.
Task<> join_over_nodes(const Channel& channel, std::span<std::byte> bytes, JoinBytes join);

/// Those of the node of `root`, a rank of the communicator, reach all nodes. On one rank of each.
Task<> broadcast_over_nodes(const Channel& channel, std::span<std::byte> bytes, int root);

/// The texts of all ranks, of any length, by rank: on rank 0, nothing on the others. Each sends its
/// own to rank 0.
Task<std::vector<std::string>> gather_on_first(const Channel& channel, std::string text);

/// For a rank that will not take part in a join_over_nodes of the channel: sends `bytes` to each
/// rank that would wait for it there.
void tell_nodes(const Channel& channel, const std::vector<std::byte>& bytes);

}  // namespace penstock
