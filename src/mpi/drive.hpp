// Driving: going on with tasks until they have ended, and sleeping while they cannot go on. The
// only code in which a rank waits for another one.
#pragma once

#include "base/task.hpp"
#include "mpi/communicator.hpp"
#include "mpi/wait.hpp"

namespace penstock {

/// What going on has come to.
struct Progress {
  bool over = false;
  bool moved = false;
  Expect expect = Expect::ring;  // of what is waited for now
};

/// Until `go_on`, which returns Progress, says that it is over. Throws Error(state) where the ranks
/// do not come (wait.hpp).
template <class GoOn>
void drive_until(Bell& bell, bool crowded, GoOn&& go_on) {
  for (Wait wait;;) {
    const std::uint32_t heard = bell.heard();
    const Progress progress = go_on();
    if (progress.over) return;
    if (progress.moved) {
      wait.restart();
      continue;
    }
    wait.may_throw(may_give_up(progress.expect));
    bell.sleep(heard, wait, by_messages(progress.expect), !crowded);
  }
}

template <class T>
T drive(Bell& bell, bool crowded, Task<T> task) {
  Running<T> running(std::move(task));
  drive_until(bell, crowded, [&] {
    const std::int64_t before = running.steps();
    const bool over = running.advance();
    return Progress{over, running.steps() != before, running.expects()};
  });
  return running.result();
}
template <class T>
T drive(Team& team, Task<T> task) {
  return drive(team.own_mailbox().bell, team.crowded(), std::move(task));
}
template <class T>
T drive(const Communicator& comm, Task<T> task) {
  return drive(comm.bell(), comm.crowded(), std::move(task));
}

}  // namespace penstock
