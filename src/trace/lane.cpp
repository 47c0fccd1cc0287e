#include "trace/lane.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>

#include "base/tally.hpp"

namespace penstock::trace {

ThreadLane::ThreadLane() {
  const auto thread = static_cast<pid_t>(::syscall(SYS_gettid));
  if (thread == ::getpid()) text_ = "main thread";
  else text_ = (in_background ? "I/O thread " : "thread ") + std::to_string(thread);
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/schedstat";
  schedstat_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

ThreadLane::~ThreadLane() {
  if (schedstat_ >= 0) ::close(schedstat_);
}

bool ThreadLane::read(RunTimes& times) const noexcept {
  char text[96];
  const ssize_t length = schedstat_ < 0 ? -1 : ::pread(schedstat_, text, sizeof text, 0);
  if (length <= 0) return false;
  const char* const end = text + length;
  const auto [next, first] = std::from_chars(text, end, times.running);
  if (first != std::errc() || next == end) return false;
  return std::from_chars(next + 1, end, times.waiting).ec == std::errc();
}

}  // namespace penstock::trace
