// SharedExtent: an extent in memory shared by processes. One process changes it, one thread at a
// time; others read it.
#pragma once

#include <algorithm>
#include <atomic>

#include "base/extent.hpp"

namespace penstock {

/// Zeroed memory is an empty one. While it grows, readers see something between the old and the new
/// one.
class SharedExtent {
 public:
  void include(Extent more) noexcept {
    const Extent now = get();
    begin_.store(now.empty() ? more.begin : std::min(now.begin, more.begin));
    end_.store(now.empty() ? more.end : std::max(now.end, more.end));
  }
  void clear() noexcept {
    end_.store(0);
    begin_.store(0);
  }
  Extent get() const noexcept {
    const std::int64_t end = end_.load(), begin = begin_.load();
    return {std::min(begin, end), end};
  }

 private:
  std::atomic<std::int64_t> begin_, end_;
};

}  // namespace penstock
