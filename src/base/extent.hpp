// Extent: a half-open range of bytes in a file.
#pragma once

#include <algorithm>
#include <cstdint>

namespace penstock {

struct Extent {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t length() const noexcept { return end > begin ? end - begin : 0; }
  bool empty() const noexcept { return end <= begin; }
  bool contains(std::int64_t offset) const noexcept { return offset >= begin && offset < end; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

inline Extent intersect(Extent a, Extent b) noexcept {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

}  // namespace penstock
