// Coverage: the wanted bytes of one window, one bit per byte. Only needed for windows with holes,
// or with requests that may overlap.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "pattern/memory_map.hpp"

namespace penstock {

class Coverage {
 public:
  /// Memory comes from `pool`, if there is one, and is returned by release().
  explicit Coverage(MemoryGauge* gauge, BufferPool* pool = nullptr) : gauge_(gauge), pool_(pool) {}

  /// A stretch of the window that begins and ends with marked bytes.
  struct Cluster {
    Extent range;
    std::int64_t wanted = 0, runs = 0;
  };

  void restart(Extent window);
  Buffer release() noexcept { return std::move(storage_); }
  void mark(const Batch& batch);
  std::int64_t wanted() const noexcept;  // bytes marked, each counted once
  std::int64_t run_count() const noexcept;

  /// Calls visit(Extent) for each maximal stretch of marked (or unmarked) bytes, ascending.
  template <class Visit>
  void for_each_run(Visit&& visit) const {
    for_each_stretch(true, window_, visit);
  }
  template <class Visit>
  void for_each_hole(Visit&& visit) const {
    for_each_stretch(false, window_, visit);
  }
  /// Within `part` of the window only.
  template <class Visit>
  void for_each_hole_in(Extent part, Visit&& visit) const {
    for_each_stretch(false, part, visit);
  }
  /// Calls visit(Cluster) for each stretch of `within` that has no hole of `dividing_hole` bytes or
  /// more, ascending.
  template <class Visit>
  void for_each_part_in(Extent within, std::int64_t dividing_hole, Visit&& visit) const {
    Cluster part;
    for_each_run_in(within, [&](Extent run) {
      if (part.runs > 0 && run.begin - part.range.end >= dividing_hole)
        visit(std::exchange(part, {}));
      if (part.runs == 0) part.range.begin = run.begin;
      part.range.end = run.end;
      part.wanted += run.length();
      ++part.runs;
    });
    if (part.runs > 0) visit(part);
  }
  /// The marked stretches within `part` of the window only.
  template <class Visit>
  void for_each_run_in(Extent part, Visit&& visit) const {
    for_each_stretch(true, part, visit);
  }

 private:
  void mark_run(std::int64_t begin, std::int64_t end) noexcept;  // relative to the window
  /// The first bit at or above `from` that equals `value`; the window's length if none.
  std::int64_t find(std::int64_t from, bool value) const noexcept;
  template <class Visit>
  void for_each_stretch(bool value, Extent part, Visit&& visit) const {
    const std::int64_t stop = part.end - window_.begin;
    for (std::int64_t at = find(part.begin - window_.begin, value); at < stop;) {
      const std::int64_t end = std::min(stop, find(at, !value));
      visit(Extent{window_.begin + at, window_.begin + end});
      at = find(end, value);
    }
  }

  MemoryGauge* gauge_;
  BufferPool* pool_;
  Buffer storage_;
  std::uint64_t* words_ = nullptr;
  std::int64_t word_count_ = 0;
  Extent window_;
};

}  // namespace penstock
