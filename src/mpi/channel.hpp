// Channel: the tags and the meeting slot of one call. Every collective call of an open file has its
// own, so that calls in flight do not mix: ranks may reach the agreements of two calls in different
// orders.
//
// Invariants:
//   1. Calls on an endpoint are numbered alike on all ranks, in the order in which they begin.
//   2. All ranks do what they do in one channel in the same order.
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
  Call call;                // the same on all ranks
  std::int64_t number = 0;  // counts the calls on the endpoint

  /// For the team's meetings.
  int slot() const noexcept { return static_cast<int>(number % Team::slots); }
  /// Each step has a tag of its own: a rank that waits for request descriptors must not receive
  /// another's data.
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
