// Where and how eagerly the threads of the background run.
#pragma once

namespace penstock {

/// How such a thread runs while it does a piece of work.
struct Placement {
  /// SCHED_BATCH if the program is SCHED_OTHER, else as the program. A SCHED_BATCH thread that
  /// wakes up does not preempt the program's thread on its core, but waits until that one's time is
  /// over.
  static constexpr int gentle = -2;
  int policy = -1;  // SCHED_OTHER, SCHED_BATCH; -1: as the program's; gentle
  int nice = 0;     // added to the program's
  int core = -1;    // -1: any that the program may use
  friend bool operator==(const Placement&, const Placement&) = default;
};

/// Applies to the calling thread what differs from the last time. What the system refuses (a core
/// that is not there, a lower nice value without the right to it) is said once on stderr.
void place_thread(const Placement& wanted) noexcept;

}  // namespace penstock
