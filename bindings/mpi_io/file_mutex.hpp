// The lock of an open file: threads that call functions of one file wait for each other.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

namespace penstock {

/// A mutex that its owner, too, may try to lock without waiting: a thread that waits in a call on
/// the file progresses requests of other files, and finds its own among them.
class FileMutex {
 public:
  void lock() {
    mutex_.lock();
    owner_ = std::this_thread::get_id();
  }
  bool try_lock() {
    if (owner_ == std::this_thread::get_id() || !mutex_.try_lock()) return false;
    owner_ = std::this_thread::get_id();
    return true;
  }
  void unlock() {
    owner_ = std::thread::id();
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};
};

}  // namespace penstock
