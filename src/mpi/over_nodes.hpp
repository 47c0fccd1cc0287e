// Reductions and broadcasts between nodes, by messages between the first ranks of the nodes (or
// between all ranks, if those of a node share no memory). The number of steps is logarithmic.
// Messages have the channel's tag for agreements and arrive in the order in which they are sent, so
// agreements of one call do not mix either.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/task.hpp"
#include "mpi/channel.hpp"

namespace penstock {

/// Joins the bytes of a higher node into those of a lower one: associative, equally long on all
/// nodes.
using JoinBytes = void (*)(std::span<std::byte> lower, std::span<const std::byte> higher);

/// Joins the bytes of all nodes, on all of them. Called on one rank of each node.
Task<> join_over_nodes(const Channel& channel, std::span<std::byte> bytes, JoinBytes join);

/// Sends the bytes of the node of `root`, a rank of the communicator, to all nodes. Called on one
/// rank of each.
Task<> broadcast_over_nodes(const Channel& channel, std::span<std::byte> bytes, int root);

/// The texts of all ranks, of any length, by rank: on rank 0, nothing on the others. Each rank
/// sends its own to rank 0.
Task<std::vector<std::string>> gather_on_first(const Channel& channel, std::string text);

/// For a rank that will not take part in a join_over_nodes of the channel: sends `bytes` to each
/// rank that would wait for it there.
void notify_nodes(const Channel& channel, const std::vector<std::byte>& bytes);

}  // namespace penstock
