// CallGate: restricts calls of an open file to the process that opened it, one thread at a time. A
// thread that comes while another is in a call waits; queries return without an answer.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "mpi/thread_use.hpp"

namespace penstock {

class CallGate {
 public:
  /// While one exists, no other thread calls the file. They nest.
  struct Pass {
    std::unique_lock<std::recursive_mutex> lock;
    std::optional<MpiUse> mpi;
  };

  CallGate();
  /// `path`: for messages. `calls_mpi`: false for a file of this process alone. Throws Error(state)
  /// in a forked child; if exit() has begun in another thread; and if MPI may not be called by a
  /// second thread.
  Pass enter(const std::string& path, bool calls_mpi);
  /// Returns nullopt if it would have to wait for another thread. Throws in a forked child.
  std::optional<Pass> try_enter(const std::string& path, bool calls_mpi);
  /// To abandon the file: always waits. Not in a forked child.
  Pass enter_last(const std::string& path, bool calls_mpi);
  bool is_in_child() const noexcept;

 private:
  void check(const std::string& path) const;

  const int process_;  // the one that opened the file
  std::recursive_mutex mutex_;
};

}  // namespace penstock
