// DomainTable: the file domain access table (FDAT) of one aggregator: which rank wants which bytes
// of its domain.
#pragma once

#include <vector>

#include "engine/window.hpp"

namespace penstock {

class DomainTable {
 public:
  struct Source {
    int rank;
    Footprint footprint;
    std::int64_t round;  // the next one in which it has bytes
  };

  DomainTable(const Plan& plan, std::int64_t aggregator, Overlap overlap = Overlap::highest_rank);
  /// In rank order. A request without bytes in the domain is ignored.
  void add(int rank, Footprint footprint);
  /// After the last add(): determines whether requests overlap, and the first round.
  void finalize();
  /// For a write: if the patterns do not show whether requests overlap, counts their bytes window
  /// by window.
  void count_overlaps(Context& context);

  std::int64_t aggregator() const noexcept { return aggregator_; }
  const std::vector<Source>& sources() const noexcept { return sources_; }
  /// No byte is known to be wanted twice.
  bool disjoint() const noexcept { return apart_ == Apart::yes; }
  /// Ranks may copy into a window in any order.
  bool any_order() const noexcept { return disjoint() || overlap_ == Overlap::unspecified; }
  /// No round is left.
  bool finished() const noexcept { return round_ >= rounds_; }
  /// The next round with wanted bytes.
  std::int64_t round() const noexcept { return round_; }
  /// From the first to the last wanted byte of each round that is left.
  std::vector<Extent> extents_left() const;
  /// The streams of the current round, one per source, and the extent from its first to its last
  /// wanted byte. Advances to the next round.
  Extent take(std::vector<WindowStream>& streams);
  /// The same, opened as `window` (WindowIo::open). `address`: memory for a window plus
  /// lead_room(), starting at a page boundary.
  void open(Context& context, Window& window, std::byte* address = nullptr);

 private:
  void find_round();

  const Plan& plan_;
  std::int64_t aggregator_, rounds_;
  Overlap overlap_;
  std::vector<Source> sources_;
  Apart apart_ = Apart::yes;
  std::int64_t round_ = 0;
};

}  // namespace penstock
