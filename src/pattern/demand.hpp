// Demand: the requests of one rank, or of many joined, as far as a plan needs them.
#pragma once

#include <limits>

#include "pattern/footprint.hpp"
#include "pattern/units.hpp"

namespace penstock {

/// Joining is associative, in rank order.
struct Demand {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();  // hull of all requests, bytes
  std::int64_t end = -1;
  std::int64_t bytes = 0;
  std::int64_t runs = 0;
  std::int64_t hulls = 0;  // lengths of the ranks' hulls, added up; the largest number at most
  std::int64_t words = 0;  // of the longest request descriptor of a rank
  /// Hull of what ranks have buffered of this file and not written yet.
  std::int64_t pending_begin = std::numeric_limits<std::int64_t>::max(), pending_end = -1;
  /// Where the file ends once that is written, as far as a rank knows; where reads end there.
  std::int64_t file_end = 0;
  /// Bytes of room in the active buffer of the rank that has least; no_buffer: it can have none.
  static constexpr std::int64_t no_buffer = std::numeric_limits<std::int64_t>::min();
  std::int64_t room = std::numeric_limits<std::int64_t>::max();
  /// Bytes of memory that the rank that can get least still gets, where something limits that, and
  /// which rank it is; -1: no rank is limited.
  std::int64_t memory = std::numeric_limits<std::int64_t>::max(), memory_at = -1;
  /// The access of some rank would wait for a device, see Operation::is_slow.
  bool slow = false;
  /// Ranks' hulls follow each other in rank order: then no two ranks want the same byte.
  bool ordered = true;
  /// All ranks say that where they write the same byte, any of them may win.
  bool any_winner = false;

  /// The hull is one of whole pieces, where `units` has indivisible ones: ranks whose hulls are
  /// apart share none.
  static Demand of(const Footprint& footprint, const FileUnits& units = {});
  /// Leaves out what is at or above `end`.
  void clip(std::int64_t end) noexcept;
  bool empty() const noexcept { return bytes == 0; }
  Extent hull() const noexcept { return empty() ? Extent{0, 0} : Extent{begin, end}; }
  Extent pending() const noexcept { return {pending_begin, std::max(pending_begin, pending_end)}; }
  void join(const Demand& higher_ranks);
};

}  // namespace penstock
