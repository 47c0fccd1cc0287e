// Turns: the order in which calls in flight do what they can only do one after the other.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

/// Calls that have something to do in turn, in the order in which they began.
class Turns {
 public:
  void join(std::int64_t call) { waiting_.push_back(call); }
  bool is_turn_of(std::int64_t call) const { return waiting_.front() == call; }
  std::int64_t first() const noexcept { return waiting_.empty() ? 0 : waiting_.front(); }
  void leave(std::int64_t call) noexcept { std::erase(waiting_, call); }

 private:
  std::vector<std::int64_t> waiting_;  // ascending, since calls are numbered as they begin
};

}  // namespace penstock
