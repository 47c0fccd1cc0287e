// Footprint: the file side of one rank's request, all its sections together.
// WindowStream: its bytes within one window of the file, as they travel: piece after piece, each
// in file order. Sender and receiver compute the same stream from the same sections.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "access/runs.hpp"

namespace penstock {

class Footprint {
 public:
  static constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::max();

  Footprint() = default;
  /// `strides`: per section the memory strides, or null for the file side only.
  Footprint(const ArrayLayout& layout, std::span<const Section> sections,
            const std::vector<std::vector<std::int64_t>>* strides = nullptr);

  bool empty() const noexcept { return pieces_.empty(); }
  Extent hull() const noexcept { return hull_; }
  std::int64_t bytes() const noexcept { return bytes_; }  // overlaps between pieces count twice
  std::int64_t run_count() const noexcept;
  std::int64_t bytes_in(Extent window) const noexcept;
  /// The first wanted offset at or above `offset`; nowhere if there is none.
  std::int64_t next(std::int64_t offset) const noexcept;
  /// The end of the last wanted byte below `offset`; -1 if there is none.
  std::int64_t previous_end(std::int64_t offset) const noexcept;

  const std::vector<Runs>& pieces() const noexcept { return pieces_; }
  std::size_t section_of(std::size_t piece) const noexcept { return sections_[piece]; }

 private:
  std::vector<Runs> pieces_;
  std::vector<std::size_t> sections_;  // per piece: which section it came from
  Extent hull_;
  std::int64_t bytes_ = 0;
};

class WindowStream {
 public:
  WindowStream() = default;
  WindowStream(const Footprint& footprint, Extent window);

  std::int64_t size() const noexcept { return size_; }
  std::int64_t run_count() const noexcept;
  /// Whether stream positions [begin, end) are one run.
  bool one_run(std::int64_t begin, std::int64_t end) const noexcept;

  /// Calls visit(section, const Batch&) for stream positions [begin, end). Batch::packed counts
  /// from `begin`.
  template <class Visit>
  void for_each(std::int64_t begin, std::int64_t end, Visit&& visit) const {
    std::int64_t start = 0;
    for (const Slice& s : slices_) {
      const std::int64_t length = s.end - s.begin;
      const std::int64_t from = std::max(begin, start), to = std::min(end, start + length);
      if (from < to)
        s.runs->for_each(s.begin + from - start, s.begin + to - start, [&](Batch b) {
          b.packed += start - s.begin - begin;
          visit(s.section, static_cast<const Batch&>(b));
        });
      start += length;
      if (start >= end) return;
    }
  }

 private:
  struct Slice {
    const Runs* runs;
    std::size_t section;
    std::int64_t begin, end;
  };
  std::vector<Slice> slices_;
  std::int64_t size_ = 0;
};

/// True when no two of the sections can share an element; gives up (false) beyond `limit`
/// sections, since pairs are compared.
bool all_disjoint(std::span<const Section* const> sections, std::size_t limit = 256);

}  // namespace penstock
