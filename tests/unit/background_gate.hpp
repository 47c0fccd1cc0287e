#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace penstock {

constexpr std::int64_t KiB = 1024, MiB = 1024 * KiB;

/// Holds up the I/O thread until opened.
class Gate {
 public:
  void open() {
    {
      const std::lock_guard guard(mutex_);
      open_ = true;
    }
    opened_.notify_all();
  }
  void pass() {
    std::unique_lock guard(mutex_);
    opened_.wait(guard, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

}  // namespace penstock
