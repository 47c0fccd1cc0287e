// DomainTable: the file domain access table (FDAT) of one aggregator: who wants what of its domain.
#pragma once

#include <vector>

#include "engine/window.hpp"

namespace penstock {

class DomainTable {
 public:
  struct Source {
    int rank;
    Footprint footprint;
    std::int64_t round;  // the next one with bytes of it
  };

  DomainTable(const Plan& plan, std::int64_t aggregator, Overlap overlap = Overlap::highest_rank);
  /// In rank order. A request without a byte of the domain is left out.
  void add(int rank, Footprint footprint);
  /// After the last add(): finds out whether requests overlap, and the first round.
  void finalize();
  /// Of a write: where the patterns do not tell whether requests overlap, their bytes are counted,
  /// window by window.
  void count_overlaps(Context& context);

  std::int64_t aggregator() const noexcept { return aggregator_; }
  const std::vector<Source>& sources() const noexcept { return sources_; }
  /// No byte is wanted twice, as far as is known.
  bool disjoint() const noexcept { return apart_ == Apart::yes; }
  /// Ranks may copy into a window in any order.
  bool any_order() const noexcept { return disjoint() || overlap_ == Overlap::unspecified; }
  /// No round is left.
  bool finished() const noexcept { return round_ >= rounds_; }
  /// The next round with wanted bytes.
  std::int64_t round() const noexcept { return round_; }
  /// From the first to the last wanted byte of each round that is left.
  std::vector<Extent> extents_left() const;
  /// The streams of that round, one per source, and the extent from its first to its last wanted
  /// byte; goes on to the next.
  Extent take(std::vector<WindowStream>& streams);
  /// The same, opened as `window`, see WindowIo::open. `address`: a window and lead_room() of
  /// memory at a page boundary.
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
