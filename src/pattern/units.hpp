// FileUnits: what the bytes of a file belong together in, as far as dividing them goes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/extent.hpp"

namespace penstock {

struct FileUnits {
  /// Bytes that stay whole: ranks that write the same bytes at a time write all of a grain or none.
  std::int64_t grain = 1;
  /// Sizes of pieces that had better not be divided, largest first, each counted from all.begin: of
  /// an array the slabs of its dimensions. May be empty.
  std::vector<std::int64_t> slabs;
  Extent all;  // what there is of the file; empty: not known
  /// Reads end where the file does. Else that is an error: what they ask for should be there.
  bool open_ended = false;
  /// Bytes of pieces that one rank alone may change at a time, counted from all.begin: chunks that
  /// are compressed as a whole. Domains and windows are made of whole ones; 0: there are none.
  std::int64_t indivisible = 0;

  /// The indivisible pieces that `range` touches.
  Extent whole_around(Extent range) const noexcept {
    if (indivisible == 0 || range.empty()) return range;
    const std::int64_t first = (range.begin - all.begin) / indivisible;
    const std::int64_t end = (range.end - all.begin - 1) / indivisible + 1;
    return {all.begin + first * indivisible, all.begin + end * indivisible};
  }
};

}  // namespace penstock
