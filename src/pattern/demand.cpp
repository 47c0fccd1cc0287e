#include "pattern/demand.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// Associative.
std::int64_t add_up_to_largest(std::int64_t a, std::int64_t b) noexcept {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  return a > largest - b ? largest : a + b;
}

}  // namespace

Demand Demand::of(const Footprint& footprint, const FileUnits& units) {
  Demand demand;
  if (footprint.empty()) return demand;
  const Extent hull = units.whole_around(footprint.hull());
  demand.begin = hull.begin;
  demand.end = hull.end;
  demand.hulls = demand.end - demand.begin;
  demand.bytes = footprint.bytes();
  demand.runs = footprint.run_count();
  return demand;
}

/// Bytes and runs are not adjusted, unless nothing is left: they only help to choose.
void Demand::clip(std::int64_t limit) noexcept {
  if (empty() || end <= limit) return;
  end = limit;
  if (begin >= end) bytes = runs = 0;
}

void Demand::join(const Demand& higher) {
  words = std::max(words, higher.words);
  pending_begin = std::min(pending_begin, higher.pending_begin);
  pending_end = std::max(pending_end, higher.pending_end);
  file_end = std::max(file_end, higher.file_end);
  room = std::min(room, higher.room);
  if (higher.memory < memory) {
    memory = higher.memory;
    memory_at = higher.memory_at;
  }
  slow = slow || higher.slow;
  any_winner = any_winner && higher.any_winner;
  if (higher.empty()) return;
  if (empty()) {
    begin = higher.begin;
    end = higher.end;
    bytes = higher.bytes;
    runs = higher.runs;
    hulls = higher.hulls;
    ordered = higher.ordered;
    return;
  }
  ordered = ordered && higher.ordered && end <= higher.begin;
  begin = std::min(begin, higher.begin);
  end = std::max(end, higher.end);
  bytes += higher.bytes;
  runs += higher.runs;
  hulls = add_up_to_largest(hulls, higher.hulls);
}

}  // namespace penstock
