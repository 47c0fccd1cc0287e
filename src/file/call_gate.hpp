// CallGate: who may call an open file: the process that opened it, one thread at a time. A thread
// that comes while another is in a call waits; calls that only ask go away with nothing.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "mpi/thread_use.hpp"

namespace penstock {

class CallGate {
 public:
  /// As long as one exists, no other thread calls the file. They nest.
  struct Pass {
    std::unique_lock<std::recursive_mutex> lock;
    std::optional<MpiUse> mpi;
  };

  CallGate();
  /// `path`: for messages. `calls_mpi`: not of a file of this process alone.
  /// Throws Error(state): in a forked child; where exit() has begun in another thread; where MPI
  /// may not be called by a second thread.
  Pass enter(const std::string& path, bool calls_mpi);
  /// Nothing where another thread would have to be waited for. Throws in a forked child.
  std::optional<Pass> try_enter(const std::string& path, bool calls_mpi);
  /// To let go of the file: waits, whatever for. Not in a forked child.
  Pass enter_last(const std::string& path, bool calls_mpi);
  bool is_in_child() const noexcept;

 private:
  void check(const std::string& path) const;

  const int process_;  // that opened the file
  std::recursive_mutex mutex_;
};

}  // namespace penstock
