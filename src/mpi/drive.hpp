// drive(): resumes tasks until they have ended, and sleeps while they cannot progress. The only
// code in which a rank waits for another one.
#pragma once

#include "base/task.hpp"
#include "mpi/communicator.hpp"
#include "mpi/wait.hpp"

namespace penstock {

/// Result of a step.
struct Progress {
  bool over = false;
  bool moved = false;
  Expect expect = Expect::notification;  // what is waited for
};

/// Calls `step`, which returns Progress, until it is over. Throws Error(state) if the ranks do not
/// come (wait.hpp).
template <class Step>
void drive_until(Event& event, bool crowded, Step&& step) {
  for (Wait wait;;) {
    const std::uint32_t seen = event.notifications();
    const Progress progress = step();
    if (progress.over) return;
    if (progress.moved) {
      wait.restart();
      continue;
    }
    wait.may_throw(may_give_up(progress.expect));
    event.sleep(seen, wait, by_messages(progress.expect), !crowded);
  }
}

template <class T>
T drive(Event& event, bool crowded, Task<T> task) {
  Running<T> running(std::move(task));
  drive_until(event, crowded, [&] {
    const std::int64_t before = running.steps();
    const bool over = running.advance();
    return Progress{over, running.steps() != before, running.expects()};
  });
  return running.result();
}
template <class T>
T drive(Team& team, Task<T> task) {
  return drive(team.own_mailbox().event, team.crowded(), std::move(task));
}
template <class T>
T drive(const Communicator& comm, Task<T> task) {
  return drive(comm.event(), comm.crowded(), std::move(task));
}

}  // namespace penstock
