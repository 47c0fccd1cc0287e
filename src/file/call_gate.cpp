#include "file/call_gate.hpp"

#include <penstock/error.hpp>

#include "base/process_id.hpp"

namespace penstock {

CallGate::CallGate() : process_(this_process()) {}

bool CallGate::is_in_child() const noexcept {
  return process_ != this_process();
}

/// Before locking: in a forked child the lock may be held by a thread that does not exist.
void CallGate::check(const std::string& path) const {
  if (is_in_child())
    throw Error(ErrorClass::state, "'" + path + "': this file was opened by process " +
                                       std::to_string(process_) + "; this is process " +
                                       std::to_string(this_process()) +
                                       ", a fork of it, which cannot use the file: let process " +
                                       std::to_string(process_) +
                                       " do that, or open a file here, without a communicator");
  if (exits_in_another_thread())
    throw Error(ErrorClass::state,
                "'" + path + "': the program is ending (exit); wait for its threads before that");
}

CallGate::Pass CallGate::enter(const std::string& path, bool calls_mpi) {
  check(path);
  Pass pass{std::unique_lock(mutex_), std::nullopt};
  if (calls_mpi) pass.mpi.emplace(path);
  return pass;
}

std::optional<CallGate::Pass> CallGate::try_enter(const std::string& path, bool calls_mpi) {
  check(path);
  Pass pass{std::unique_lock(mutex_, std::try_to_lock), std::nullopt};
  if (!pass.lock) return std::nullopt;
  if (!calls_mpi || WithoutMpi::here()) return pass;
  std::optional<MpiUse> mpi = MpiUse::attempt();
  if (!mpi) return std::nullopt;
  pass.mpi.emplace(std::move(*mpi));
  return pass;
}

CallGate::Pass CallGate::enter_last(const std::string& path, bool calls_mpi) {
  Pass pass{std::unique_lock(mutex_), std::nullopt};
  if (calls_mpi) pass.mpi.emplace(path, MpiUse::Otherwise::waits);
  return pass;
}

}  // namespace penstock
