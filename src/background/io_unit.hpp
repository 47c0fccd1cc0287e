// IoUnit: a piece of work for an I/O thread: one write or read.
#pragma once

#include <cstdint>
#include <functional>

#include "background/placement.hpp"
#include "base/extent.hpp"

namespace penstock {

/// A unit's position in its queue, ascending in order of submission. 0: no unit.
using IoTicket = std::uint64_t;

struct IoUnit {
  Extent extent;                // the part of the file that it writes within; empty for a read
  std::int64_t operation = 0;   // number of the write of its owner
  const void* owner = nullptr;  // an open file, which numbers its writes
  Placement placement;
  std::function<void()> work;  // may throw; owns the unit's memory, and releases it
  /// If storage completes later, `work` only begins accesses, and this waits for them to end; may
  /// throw, too. Empty: `work` does everything. Units with a `finish` may be in flight together,
  /// see goes_beside().
  std::function<void()> finish;

  bool writes() const noexcept { return !extent.empty(); }
  /// Whether it may begin while `other`, of the same file, is in flight. Not if their extents
  /// overlap: the later unit must win, and locks of one open file must not overlap (RangeLock).
  bool goes_beside(const IoUnit& other) const noexcept {
    return finish && other.finish && owner == other.owner && operation == other.operation &&
           intersect(extent, other.extent).empty();
  }
};

}  // namespace penstock
