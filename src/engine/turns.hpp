// Turns: the order of calls in flight in a phase that only one of them may be in.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

/// The calls that still have to go through the phase, in the order in which they began.
class Turns {
 public:
  void join(std::int64_t call) { waiting_.push_back(call); }
  bool is_turn_of(std::int64_t call) const { return waiting_.front() == call; }
  std::int64_t first() const noexcept { return waiting_.empty() ? 0 : waiting_.front(); }
  void leave(std::int64_t call) noexcept { std::erase(waiting_, call); }

 private:
  std::vector<std::int64_t> waiting_;  // ascending: calls are numbered as they begin
};

}  // namespace penstock
