// CPU placement and scheduling of background threads.
#pragma once

namespace penstock {

/// Settings of such a thread during a piece of work.
struct Placement {
  /// SCHED_BATCH if the program is SCHED_OTHER, else as the program. A SCHED_BATCH thread that
  /// wakes up does not preempt the program's thread on its core, but waits for the end of its time
  /// slice.
  static constexpr int gentle = -2;
  int policy = -1;  // SCHED_OTHER or SCHED_BATCH; -1: as the program; gentle
  int nice = 0;     // added to the program's
  int core = -1;    // -1: any that the program may use
  friend bool operator==(const Placement&, const Placement&) = default;
};

/// Applies the differences from the last time to the calling thread. What the system refuses (a
/// core that does not exist, a nice value lower than permitted) is reported once on stderr.
void place_thread(const Placement& wanted) noexcept;

}  // namespace penstock
