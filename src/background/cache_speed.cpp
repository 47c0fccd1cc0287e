#include "background/cache_speed.hpp"

#include <algorithm>
#include <map>

namespace penstock {
namespace {

/// Below this bandwidth writes wait for the device: copies into a page cache are several times
/// faster, and few disks are as fast.
constexpr double slowest = 500e6;  // bytes a second
/// Writes are summed until they took this long, or moved this much, before they are judged: a
/// single short call may look slow only because its rank lost its core.
constexpr double enough_seconds = 0.05;
constexpr std::int64_t enough_bytes = std::int64_t{64} << 20;
/// Time of a call that does not depend on its bytes; subtracted, since many short writes would look
/// like a slow device.
constexpr double per_call = 20e-6;
/// How long a device counts as slow after the last slow measurement: the kernel writes dirty pages
/// back meanwhile, and without writes there is no new measurement.
constexpr std::chrono::seconds remembered{10};

}  // namespace

std::shared_ptr<CacheSpeed> CacheSpeed::of(const std::string& device) {
  static std::mutex mutex;
  // Never destroyed: files of static storage duration may still be written at exit.
  static auto* const known = new std::map<std::string, std::shared_ptr<CacheSpeed>>;
  const std::lock_guard guard(mutex);
  std::shared_ptr<CacheSpeed>& speed = (*known)[device];
  if (!speed) speed = std::make_shared<CacheSpeed>();
  return speed;
}

void CacheSpeed::note(std::int64_t bytes, double seconds, std::int64_t calls,
                      Clock::time_point now) {
  const std::lock_guard guard(mutex_);
  seconds_ += std::max(0.0, seconds - per_call * static_cast<double>(calls));
  bytes_ += bytes;
  if (seconds_ < enough_seconds && bytes_ < enough_bytes) return;
  const bool slow = static_cast<double>(bytes_) < slowest * seconds_;
  slow_until_ = slow ? now + remembered : Clock::time_point{};
  seconds_ = 0;
  bytes_ = 0;
}

bool CacheSpeed::is_slow(Clock::time_point now) const {
  const std::lock_guard guard(mutex_);
  return now < slow_until_;
}

}  // namespace penstock
