// ThreadLane: a thread of this process, as its records name it, and how long it has waited for a
// core.
#pragma once

#include <cstdint>
#include <string>

namespace penstock::trace {

/// From its start.
struct RunTimes {
  std::int64_t running = 0, waiting = 0;  // on a core; for one. Nanoseconds
};

class ThreadLane {
 public:
  /// Of the calling thread.
  ThreadLane();
  ThreadLane(const ThreadLane&) = delete;
  ~ThreadLane();

  /// "main thread", "I/O thread 4711", "thread 4712".
  const std::string& text() const noexcept { return text_; }
  /// False where the kernel does not report it (/proc/self/task/TID/schedstat).
  bool read(RunTimes& times) const noexcept;

 private:
  std::string text_;
  int schedstat_ = -1;
};

}  // namespace penstock::trace
