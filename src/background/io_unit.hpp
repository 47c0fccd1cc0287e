// IoUnit: a piece of work for an I/O thread: what is written, or read, in one go.
#pragma once

#include <cstdint>
#include <functional>

#include "background/placement.hpp"
#include "base/extent.hpp"

namespace penstock {

/// Of one queue: units have ascending tickets in their order. 0: nothing.
using IoTicket = std::uint64_t;

struct IoUnit {
  Extent extent;                // of the file that it writes within; of a read: empty
  std::int64_t operation = 0;   // which write of its owner it belongs to
  const void* owner = nullptr;  // what counts the writes: an open file
  Placement placement;
  std::function<void()> work;  // may throw; holds the unit's memory, and lets go of it

  bool writes() const noexcept { return !extent.empty(); }
};

}  // namespace penstock
