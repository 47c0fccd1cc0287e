// IoUnit: a piece of work for an I/O thread: what is written, or read, in one go.
#pragma once

#include <cstdint>
#include <functional>

#include "background/placement.hpp"
#include "base/extent.hpp"

namespace penstock {

/// A unit's position in its queue: units have ascending tickets, in the order of submission. 0: no
/// unit.
using IoTicket = std::uint64_t;

struct IoUnit {
  Extent extent;                // of the file that it writes within; of a read: empty
  std::int64_t operation = 0;   // which write of its owner it belongs to
  const void* owner = nullptr;  // what counts the writes: an open file
  Placement placement;
  std::function<void()> work;  // may throw; holds the unit's memory, and lets go of it
  /// Where storage completes later, `work` only begins accesses, and this waits for their end; may
  /// throw, too. Empty: `work` does all. Units that have one may be under way together, see
  /// goes_beside().
  std::function<void()> finish;

  bool writes() const noexcept { return !extent.empty(); }
  /// Whether it may begin while `other`, of the same file, is under way. Not where their extents
  /// overlap: the later unit must win, and locks of one open file must not overlap (RangeLock).
  bool goes_beside(const IoUnit& other) const noexcept {
    return finish && other.finish && owner == other.owner && operation == other.operation &&
           intersect(extent, other.extent).empty();
  }
};

}  // namespace penstock
