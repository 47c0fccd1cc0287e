// Turns: the order in which calls in flight do what they can only do one after the other.
#pragma once

#include <cstdint>
#include <set>

namespace penstock {

/// Calls that have something to do in turn, in the order in which they began.
class Turns {
 public:
  void join(std::int64_t call) { waiting_.insert(call); }
  bool is_turn_of(std::int64_t call) const { return *waiting_.begin() == call; }
  std::int64_t first() const noexcept { return waiting_.empty() ? 0 : *waiting_.begin(); }
  void leave(std::int64_t call) noexcept { waiting_.erase(call); }

 private:
  std::set<std::int64_t> waiting_;
};

}  // namespace penstock
