// Channel: where the ranks of an open file meet for one call. Every collective call has one of its
// own, so that calls in flight do not mix: the ranks may come to what they have to agree on for two
// calls in different orders.
//
// Invariants:
//   1. Calls of a lane are numbered alike on all ranks, in the order in which they begin.
//   2. What is done in one channel is done in the same order by all ranks.
//   3. Two calls that use the same slot or tags are not in flight at a time.
#pragma once

#include <cstdint>
#include <string>

#include "mpi/call.hpp"
#include "mpi/communicator.hpp"

namespace penstock {

struct Channel {
  const Communicator& comm;
  const std::string& path;  // of the file, for messages
  Call call;                // what all ranks must be in
  std::int64_t number = 0;  // of the calls of the lane

  /// Of the team's meetings.
  int slot() const noexcept { return static_cast<int>(number % Team::slots); }
  /// Each step has a tag of its own: a rank that waits for request descriptors must not take
  /// another's data for one.
  int request_tag() const noexcept { return first_tag(); }
  int data_tag() const noexcept { return first_tag() + 1; }
  int bundle_tag() const noexcept { return first_tag() + 2; }
  int agreement_tag() const noexcept { return first_tag() + 3; }

 private:
  int first_tag() const noexcept {
    return static_cast<int>(number % Communicator::different_calls) * 4;
  }
};

}  // namespace penstock
