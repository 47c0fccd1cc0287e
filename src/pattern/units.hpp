// FileUnits: how the bytes of a file are grouped, for dividing it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/extent.hpp"

namespace penstock {

struct FileUnits {
  /// Bytes that stay together: of concurrent writers of the same bytes, each writes a whole grain
  /// or none of it.
  std::int64_t grain = 1;
  /// Sizes of pieces that should not be divided, largest first, each counted from all.begin: the
  /// slabs of an array's dimensions. May be empty.
  std::vector<std::int64_t> slabs;
  Extent all;  // the accessible part of the file; empty: unknown
  /// Reads end at the end of the file. Otherwise reading beyond it is an error.
  bool open_ended = false;
  /// Size of pieces that only one rank may change at a time, counted from all.begin: chunks that
  /// are compressed as a whole. Domains and windows consist of whole ones; 0: there are none.
  std::int64_t indivisible = 0;

  /// The whole indivisible pieces that `range` touches.
  Extent whole_around(Extent range) const noexcept {
    if (indivisible == 0 || range.empty()) return range;
    const std::int64_t first = (range.begin - all.begin) / indivisible;
    const std::int64_t end = (range.end - all.begin - 1) / indivisible + 1;
    return {all.begin + first * indivisible, all.begin + end * indivisible};
  }
};

}  // namespace penstock
