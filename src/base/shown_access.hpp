// ShownAccess: shows, in shared memory, whether a process is accessing the storage of a file. So
// waiting ranks can distinguish a slow device from a rank that does not come.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace penstock {

/// Zeroed memory shows nothing. Several threads may have accesses: it shows the one that began when
/// there was none, and how long none has ended.
class ShownAccess {
 public:
  struct Sight {
    bool under_way = false;
    std::int64_t offset = -1;           // in the file; -1: none
    std::chrono::nanoseconds since{0};  // begin of the access, or end of the previous one
  };

  void begin(std::int64_t offset) noexcept {
    if (under_way_.fetch_add(1) > 0) return;
    offset_.store(offset, std::memory_order_relaxed);
    changed_.store(now(), std::memory_order_relaxed);
  }
  void end() noexcept {
    changed_.store(now(), std::memory_order_relaxed);
    under_way_.fetch_sub(1);
  }
  Sight look() const noexcept {
    const std::int64_t changed = changed_.load(std::memory_order_relaxed);
    if (changed == 0) return {};
    return {under_way_.load() > 0, offset_.load(std::memory_order_relaxed),
            std::chrono::nanoseconds(now() - changed)};
  }

 private:
  /// Accurate to some milliseconds, which is enough: every access reads this clock twice.
  static std::int64_t now() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
  }

  std::atomic<std::int32_t> under_way_;
  std::atomic<std::int64_t> offset_, changed_;
};

/// An access that lasts as long as this object. `where` may be null.
class Showing {
 public:
  Showing(ShownAccess* where, std::int64_t offset) noexcept : where_(where) {
    if (where_ != nullptr) where_->begin(offset);
  }
  Showing(const Showing&) = delete;
  ~Showing() {
    if (where_ != nullptr) where_->end();
  }

 private:
  ShownAccess* where_;
};

}  // namespace penstock
