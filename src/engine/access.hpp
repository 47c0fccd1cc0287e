// Access: one rank's request in one call.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/direction.hpp"
#include "pattern/footprint.hpp"
#include "pattern/memory_map.hpp"
#include "pattern/units.hpp"

namespace penstock {

/// A part of the file that is an array of its own: file domains are aligned to its units. All ranks
/// of a call must pass the same one.
struct Region {
  std::string name;
  FileUnits units;
};

/// Which rank's bytes win where ranks write the same bytes in one call. `unspecified` saves
/// synchronisation; it has an effect only if all ranks pass it.
enum class Overlap { highest_rank, unspecified };

/// Which ranks take part in a request: all of them in the same call, or only the caller.
enum class Company { collective, independent };

/// The memory of a write is only read from.
struct Access {
  Direction direction = Direction::read;
  Overlap overlap = Overlap::highest_rank;
  Footprint file;
  std::vector<MemoryMap> memory;         // one per pattern of the footprint
  std::shared_ptr<const Region> region;  // the part of the file accessed; null: the whole file
  std::shared_ptr<const void> keeps;     // owner of the memory; null: the program keeps it alive

  /// Of an independent access: no other atomic access of the file changes or sees a part of it (MPI
  /// 4.1, section 14.6.1).
  bool atomic = false;

  bool writes() const noexcept { return direction == Direction::write; }
  /// Drops what is at or beyond `end`.
  void clip(std::int64_t end);
};

}  // namespace penstock
