// In what order the bytes of a nest are, and how to make file patterns of one that does not ascend:
// several that do, one after the other in the stream.
#pragma once

#include "pattern/file_pattern.hpp"

namespace penstock {

/// Runs in the order of the stream: a run that begins before the one before it began makes it
/// descend; one that begins before the bytes so far end makes it overlap. A nest that does neither
/// is a file pattern. Costs the size of the description.
struct StreamOrder {
  bool descends = false, overlaps = false;
  std::int64_t before = 0, place = 0;  // where it does so first: the run before, and the run

  bool ascends() const noexcept { return !descends && !overlaps; }
};
StreamOrder stream_order(const Nest& nest);

/// Collects nests in the order of the stream, with as few patterns as that order allows.
class AscendingParts {
 public:
  static constexpr std::size_t most = 1 << 16;

  /// Throws Error(argument) where there would be more than `most` patterns.
  void add(const Nest& nest);
  std::vector<FilePattern> take();

 private:
  void add_ascending(const Nest& nest);
  void close_part();

  std::vector<Nest> part_;  // nests that ascend, one after the other
  std::vector<FilePattern> parts_;
};

}  // namespace penstock
