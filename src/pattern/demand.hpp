// Demand: what a plan needs to know about the requests of one rank, or of many joined.
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
  std::int64_t hulls = 0;  // sum of the lengths of the ranks' hulls, saturating
  std::int64_t words = 0;  // of the longest request descriptor of a rank
  /// Hull of pending bytes: buffered by ranks for this file and not written yet.
  std::int64_t pending_begin = std::numeric_limits<std::int64_t>::max(), pending_end = -1;
  /// The file's size including pending writes, as far as a rank knows; for files in which reads end
  /// there.
  std::int64_t file_end = 0;
  /// The least room in the active buffer of any rank; no_buffer: it can have none.
  static constexpr std::int64_t no_buffer = std::numeric_limits<std::int64_t>::min();
  std::int64_t room = std::numeric_limits<std::int64_t>::max();
  /// The least memory that a rank can still get, if that is limited, and the rank; -1: no rank is
  /// limited.
  std::int64_t memory = std::numeric_limits<std::int64_t>::max(), memory_at = -1;
  /// The access of some rank would wait for a device, see Operation::is_slow.
  bool slow = false;
  /// Ranks' hulls follow each other in rank order, so no two ranks want the same byte.
  bool ordered = true;
  /// All ranks accept any winner where they write the same byte.
  bool any_winner = false;

  /// If `units` has indivisible pieces, the hull consists of whole ones: ranks with disjoint hulls
  /// share none.
  static Demand of(const Footprint& footprint, const FileUnits& units = {});
  /// Drops what is at or beyond `end`.
  void clip(std::int64_t end) noexcept;
  bool empty() const noexcept { return bytes == 0; }
  Extent hull() const noexcept { return empty() ? Extent{0, 0} : Extent{begin, end}; }
  Extent pending() const noexcept { return {pending_begin, std::max(pending_begin, pending_end)}; }
  void join(const Demand& higher_ranks);
};

}  // namespace penstock
