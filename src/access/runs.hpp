// Runs: the contiguous file runs of a section in ascending order, each with its place in memory,
// described by a loop nest and never listed. All queries cost O(dimensions).
//
// Invariants:
//   1. Axes go from slowest to fastest in the file, so the runs ascend and never touch twice.
//   2. One step of an axis is at least as long as everything inside it (the array is dense).
//   3. "Packed position" p numbers the selected bytes in file order, 0 <= p < size().
//      Two Runs of one section, with and without memory, number the same bytes alike.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "access/layout.hpp"

namespace penstock {

/// `count` runs of `run` bytes at constant steps.
struct Batch {
  std::int64_t file;    // offset of the first run in the file
  std::int64_t memory;  // and from the memory's base
  std::int64_t packed;  // and among the selected bytes
  std::int64_t run;
  std::int64_t count;
  std::int64_t file_step;
  std::int64_t memory_step;
};

class Runs {
 public:
  /// The pieces of one section. `memory_strides`: bytes per dimension of the section's memory;
  /// null: file side only, which merges into longer runs. An empty section has no pieces.
  static std::vector<Runs> of(const ArrayLayout& layout, const Section& section,
                              const std::vector<std::int64_t>* memory_strides = nullptr);

  std::int64_t size() const noexcept { return size_; }
  std::int64_t run_length() const noexcept { return run_; }  // 0: runs differ (extents)
  Extent hull() const noexcept { return hull_; }
  /// Selected bytes at file offsets below `offset`.
  std::int64_t below(std::int64_t offset) const noexcept;
  /// File offset of packed position `packed`.
  std::int64_t offset_at(std::int64_t packed) const noexcept;
  /// Number of runs that the packed range touches.
  std::int64_t run_count(std::int64_t begin, std::int64_t end) const noexcept;

  /// Whether the packed range is one run in the file and, with memory, in memory.
  bool one_run(std::int64_t begin, std::int64_t end) const noexcept;

  /// Calls visit(const Batch&) for the packed range [begin, end), ascending.
  template <class Visit>
  void for_each(std::int64_t begin, std::int64_t end, Visit&& visit) const;

 private:
  struct List {  // irregular axis: places of each index
    std::vector<std::int64_t> file, memory;
  };
  struct Axis {
    std::int64_t count;
    std::int64_t file_step, memory_step;
    std::shared_ptr<const List> list;
    std::int64_t inner = 0;  // selected bytes of one index
    std::int64_t file_at(std::int64_t i) const { return list ? list->file[i] : i * file_step; }
    std::int64_t memory_at(std::int64_t i) const {
      return list ? list->memory[i] : i * memory_step;
    }
    std::int64_t last_not_above(std::int64_t offset) const noexcept;
  };
  struct Table {                             // extents: runs of any length, memory one-dimensional
    std::vector<std::int64_t> file, prefix;  // prefix has one more entry
    std::int64_t element_size, memory_stride;
  };
  static constexpr int max_axes = 2 * max_dimensions;

  static Runs of_extents(const ArrayLayout& layout, const Section& section, std::int64_t stride);
  static Axis list_axis(const IndexList& indices, std::int64_t pitch, std::int64_t stride);
  void merge(bool with_memory);
  void finish();
  template <class Visit>
  void for_each_extent(std::int64_t begin, std::int64_t end, Visit&& visit) const;

  std::int64_t file_base_ = 0, memory_base_ = 0, run_ = 0, size_ = 0;
  Extent hull_;
  std::vector<Axis> axes_;
  std::shared_ptr<const Table> table_;
};

template <class Visit>
void Runs::for_each(std::int64_t begin, std::int64_t end, Visit&& visit) const {
  if (begin >= end) return;
  if (table_) return for_each_extent(begin, end, visit);
  const int n = static_cast<int>(axes_.size());
  std::int64_t index[max_axes] = {};
  std::int64_t file = file_base_, memory = memory_base_, rest = begin;
  for (int i = 0; i < n; ++i) {
    index[i] = rest / axes_[i].inner;
    rest %= axes_[i].inner;
    file += axes_[i].file_at(index[i]);
    memory += axes_[i].memory_at(index[i]);
  }
  // An odometer from here: the divisions above are paid once, not once a batch.
  const auto advance = [&](int axis, std::int64_t by) {
    for (int i = axis; i >= 0; --i, by = 1) {
      const Axis& a = axes_[i];
      file -= a.file_at(index[i]);
      memory -= a.memory_at(index[i]);
      index[i] += by;
      const bool wraps = index[i] >= a.count;
      if (wraps) index[i] = 0;
      file += a.file_at(index[i]);
      memory += a.memory_at(index[i]);
      if (!wraps) return;
    }
  };
  std::int64_t at = begin;
  if (rest > 0 || end - at < run_) {  // a cut run at the front
    const std::int64_t length = std::min(run_ - rest, end - at);
    visit(Batch{file + rest, memory + rest, at, length, 1, 0, 0});
    at += length;
    if (at >= end) return;
    advance(n - 1, 1);
  }
  while (end - at >= run_) {
    const bool regular = n > 0 && !axes_[n - 1].list;
    const std::int64_t fits = (end - at) / run_;
    const std::int64_t count = regular ? std::min(axes_[n - 1].count - index[n - 1], fits) : 1;
    visit(Batch{file, memory, at, run_, count, regular ? axes_[n - 1].file_step : 0,
                regular ? axes_[n - 1].memory_step : 0});
    at += count * run_;
    if (at >= end) return;
    advance(n - 1, count);
  }
  if (at < end) visit(Batch{file, memory, at, end - at, 1, 0, 0});  // a cut run at the back
}

template <class Visit>
void Runs::for_each_extent(std::int64_t begin, std::int64_t end, Visit&& visit) const {
  const Table& t = *table_;
  auto k = std::upper_bound(t.prefix.begin(), t.prefix.end(), begin) - t.prefix.begin() - 1;
  const bool dense = t.memory_stride == t.element_size;
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t within = at - t.prefix[k];
    const std::int64_t length = std::min(t.prefix[k + 1], end) - at;
    if (length <= 0) {
      ++k;
      continue;
    }
    const std::int64_t file = t.file[k] + within;
    if (dense) {
      visit(Batch{file, memory_base_ + at, at, length, 1, 0, 0});
      at += length;
      ++k;
      continue;
    }
    // Memory has gaps between elements: a cut element alone, whole ones in one batch.
    const std::int64_t element = at / t.element_size, cut = at % t.element_size;
    const std::int64_t memory = memory_base_ + element * t.memory_stride + cut;
    if (cut > 0 || length < t.element_size) {
      const std::int64_t part = std::min(length, t.element_size - cut);
      visit(Batch{file, memory, at, part, 1, 0, 0});
      at += part;
    } else {
      const std::int64_t whole = length / t.element_size;
      visit(Batch{file, memory, at, t.element_size, whole, t.element_size, t.memory_stride});
      at += whole * t.element_size;
    }
  }
}

}  // namespace penstock
