// ThreadLane: a thread of this process as named in its records, and its time spent waiting for a
// core.
#pragma once

#include <cstdint>
#include <string>

namespace penstock::trace {

/// Since the thread's start.
struct RunTimes {
  std::int64_t running = 0, waiting = 0;  // for or on a core; nanoseconds
};

class ThreadLane {
 public:
  /// For the calling thread.
  ThreadLane();
  ThreadLane(const ThreadLane&) = delete;
  ~ThreadLane();

  /// "main thread", "I/O thread 4711", "thread 4712".
  const std::string& text() const noexcept { return text_; }
  /// False if the kernel does not report it (/proc/self/task/TID/schedstat).
  bool read(RunTimes& times) const noexcept;

 private:
  std::string text_;
  int schedstat_ = -1;
};

}  // namespace penstock::trace
