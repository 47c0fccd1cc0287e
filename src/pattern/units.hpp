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
};

}  // namespace penstock
