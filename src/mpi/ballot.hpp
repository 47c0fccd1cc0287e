// Ballot: what one rank, or a range of ranks, contributes to an agreement. Trivially copyable: it
// is sent in messages and copied into mailboxes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/task.hpp"
#include "mpi/channel.hpp"
#include "pattern/demand.hpp"

namespace penstock {

struct Ballot {
  Demand demand;
  std::int64_t error_class = 0;
  std::int64_t error_rank = -1;  // lowest rank of the gravest class
  std::int64_t first_rank = 0;
  std::int64_t call = 0;              // of the lowest rank: its call, encoded
  std::int64_t other_call_at = -1;    // lowest rank in a different call; -1: none
  std::int64_t other_call = 0;        // its call
  std::int64_t gone = -1;             // a rank that will never meet the others again; -1: none
  FreeEndpoints endpoints;            // for opening files: free on all ranks
  std::uint64_t common = 0;           // hash of the lowest rank's common values
  std::int64_t other_common_at = -1;  // lowest rank with other values; -1: none

  /// Joins the ballot of higher ranks. Associative, not commutative.
  void join(const Ballot& higher);
};

/// The most bytes that can be attached to a ballot.
constexpr std::size_t most_aboard = 768;

/// Returns the joined ballots of all ranks. Collective. Throws Error(state) if a rank has left.
/// `aboard`: attached bytes, equally many on every rank, at most most_aboard. Afterwards every rank
/// has rank 0's.
Task<Ballot> reduce(const Channel& channel, Ballot mine, std::span<std::byte> aboard = {});

/// Not collective: this rank will never meet the others again. Ranks that come to a reduction of
/// the calls of `channel`, or of the `before` calls before it, get an error.
void leave_for_good(const Channel& channel, std::int64_t before) noexcept;

}  // namespace penstock
