// CacheSpeed: how fast the page cache takes writes to one device: as fast as memory until the
// kernel has its limit of dirty pages, then only as fast as the device.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace penstock {

class CacheSpeed {
 public:
  using Clock = std::chrono::steady_clock;

  /// The record of a device in this process.
  static std::shared_ptr<CacheSpeed> of(const std::string& device);

  /// All ranks of a node wrote `bytes` in `seconds`, in calls of which this rank made `calls`.
  void note(std::int64_t bytes, double seconds, std::int64_t calls, Clock::time_point now);
  /// Whether recent writes were slower than copies into a page cache, because the kernel makes
  /// writers wait for the device. Then a buffer before the page cache pays.
  bool is_slow(Clock::time_point now) const;

 private:
  mutable std::mutex mutex_;
  double seconds_ = 0;
  std::int64_t bytes_ = 0;
  Clock::time_point slow_until_{};
};

}  // namespace penstock
