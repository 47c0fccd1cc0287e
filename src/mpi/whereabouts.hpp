// Which ranks a waiting rank waits for, and after how long that is reported.
#pragma once

#include <chrono>

namespace penstock {

/// PENSTOCK_PATIENCE=SECONDS[,error], read once. What cannot be read is said on stderr.
struct Patience {
  std::chrono::nanoseconds limit = std::chrono::seconds(10);  // 0: nothing is ever said
  bool raises = false;
  static const Patience& get();
};

/// Writes into this rank's mailbox, for the others of its node, whether it waits for other ranks.
void show_waiting(bool waits) noexcept;

/// Says on stderr, on one rank of the node, who is in this thread's collective call and who is
/// missing. False: nobody is; some rank of the node works, and the others wait for that.
bool tell_whereabouts(std::chrono::nanoseconds waited);

/// Throws Error(state), or ends the program. The file can only be let go of after it.
[[noreturn]] void give_up(std::chrono::nanoseconds waited, bool may_throw);

}  // namespace penstock
