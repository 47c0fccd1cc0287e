// The order of a nest's bytes, and splitting a nest that does not ascend into file patterns,
// consecutive in the stream.
#pragma once

#include "pattern/file_pattern.hpp"

namespace penstock {

/// Runs in stream order: a run that begins before the previous one makes it descend; one that
/// begins before the end of the bytes so far makes it overlap. A nest that does neither is a file
/// pattern. The cost is that of the description's size.
struct StreamOrder {
  bool descends = false, overlaps = false;
  std::int64_t before = 0, place = 0;  // the first violation: the previous run, and the run

  bool ascends() const noexcept { return !descends && !overlaps; }
};
StreamOrder stream_order(const Nest& nest);

/// Collects nests in stream order, in as few patterns as that order allows.
class AscendingParts {
 public:
  static constexpr std::size_t most = 1 << 16;

  /// Throws Error(argument) if there would be more than `most` patterns.
  void add(const Nest& nest);
  std::vector<FilePattern> take();

 private:
  void add_ascending(const Nest& nest);
  void close_part();

  std::vector<Nest> part_;  // ascending nests, one after the other
  std::vector<FilePattern> parts_;
};

}  // namespace penstock
