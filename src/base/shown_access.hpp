// ShownAccess: whether a process is at the storage of a file, in memory that processes share. So
// those who wait for it can tell a slow device from a rank that does not come.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace penstock {

/// Zeroed memory is one that shows nothing. Several threads may begin and end accesses: it shows
/// the one that began when there was none, and since when none has ended.
class ShownAccess {
 public:
  struct Sight {
    bool under_way = false;
    std::int64_t offset = -1;           // in the file; -1: not of one place
    std::chrono::nanoseconds since{0};  // its begin, or the end of the one before it
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
  /// Some milliseconds are near enough, and every access costs two looks.
  static std::int64_t now() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
  }

  std::atomic<std::int32_t> under_way_;
  std::atomic<std::int64_t> offset_, changed_;
};

/// An access, for as long as this exists. `where` may be null.
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
