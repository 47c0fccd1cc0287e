// Access: what one rank asks for in one call.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/direction.hpp"
#include "pattern/footprint.hpp"
#include "pattern/memory_map.hpp"
#include "pattern/units.hpp"

namespace penstock {

/// A part of the file that is an array of its own: domains are cut by its units. All ranks of a
/// call must mean the same.
struct Region {
  std::string name;
  FileUnits units;
};

/// Where ranks write the same bytes in one call. `unspecified` saves waiting for each other; it
/// counts where all ranks say so.
enum class Overlap { highest_rank, unspecified };

/// Whom a request needs: all ranks in the same call, or none.
enum class Company { collective, independent };

/// Memory of a write is only read from.
struct Access {
  Direction direction = Direction::read;
  Overlap overlap = Overlap::highest_rank;
  Footprint file;
  std::vector<MemoryMap> memory;         // of each pattern of the footprint
  std::shared_ptr<const Region> region;  // that it is about; null: the whole file
  std::shared_ptr<const void> keeps;     // what owns the memory; null: the program sees to it

  /// Of an independent one: no other atomic access of the file changes, or sees, a part of it
  /// (MPI 4.1, section 14.6.1).
  bool atomic = false;

  bool writes() const noexcept { return direction == Direction::write; }
  /// Leaves out what is at or above `end`.
  void clip(std::int64_t end);
};

}  // namespace penstock
