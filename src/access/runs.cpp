#include "access/runs.hpp"

#include <algorithm>
#include <numeric>

namespace penstock {
namespace {

/// What one dimension contributes: one or two axes and where they begin. A block range whose last
/// block is cut contributes two alternatives, the whole blocks and the cut one.
struct Choice {
  std::int64_t first_index = 0;   // in the array
  std::int64_t first_memory = 0;  // in the section's memory, as an index
  std::int64_t blocks = 1, block_step = 0, block_memory_step = 0;  // outer axis, in indices
  std::int64_t count = 0, step = 1;                                // inner axis, in indices
};

std::vector<Choice> choices_of(const Range& r) {
  const std::int64_t count = r.count();
  if (count == 0) return {};
  if (r.block == 1) return {{r.lower, 0, 1, 0, 0, count, r.stride}};
  if (r.block == r.stride) return {{r.lower, 0, 1, 0, 0, count, 1}};
  const std::int64_t whole = count / r.block, cut = count % r.block;
  std::vector<Choice> choices;
  if (whole > 0) choices.push_back({r.lower, 0, whole, r.stride, r.block, r.block, 1});
  if (cut > 0) choices.push_back({r.lower + whole * r.stride, whole * r.block, 1, 0, 0, cut, 1});
  return choices;
}

}  // namespace

std::int64_t Runs::Axis::last_not_above(std::int64_t offset) const noexcept {
  if (!list) return std::min(offset / file_step, count - 1);
  return std::upper_bound(list->file.begin(), list->file.end(), offset) - list->file.begin() - 1;
}

Runs::Axis Runs::list_axis(const IndexList& indices, std::int64_t pitch, std::int64_t stride) {
  std::vector<std::int64_t> sorted(indices.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::sort(sorted.begin(), sorted.end(),
            [&](std::int64_t a, std::int64_t b) { return indices[a] < indices[b]; });
  auto list = std::make_shared<List>();
  for (const std::int64_t i : sorted) {
    list->file.push_back(indices[i] * pitch);
    list->memory.push_back(i * stride);
  }
  return {static_cast<std::int64_t>(indices.size()), 0, 0, std::move(list)};
}

std::vector<Runs> Runs::of(const ArrayLayout& layout, const Section& section,
                           const std::vector<std::int64_t>* memory_strides) {
  if (section.empty()) return {};
  if (section.is_extents())
    return {
        of_extents(layout, section, memory_strides ? memory_strides->at(0) : layout.element_size)};
  const std::vector<std::int64_t> pitches = layout.pitches();
  std::vector<Runs> pieces(1);
  pieces[0].file_base_ = layout.offset;
  for (std::size_t place = 0; place < layout.shape.size(); ++place) {
    const std::size_t d = layout.dimension_at(place);
    const std::int64_t pitch = pitches[d], stride = memory_strides ? (*memory_strides)[d] : 0;
    if (const auto* indices = std::get_if<IndexList>(&section.dimensions()[d])) {
      const Axis axis = list_axis(*indices, pitch, stride);
      for (Runs& piece : pieces) piece.axes_.push_back(axis);
      continue;
    }
    const std::vector<Choice> choices = choices_of(std::get<Range>(section.dimensions()[d]));
    std::vector<Runs> grown;
    for (const Runs& piece : pieces)
      for (const Choice& c : choices) {
        Runs next = piece;
        next.file_base_ += c.first_index * pitch;
        next.memory_base_ += c.first_memory * stride;
        if (c.blocks > 1)
          next.axes_.push_back({c.blocks, c.block_step * pitch, c.block_memory_step * stride, {}});
        if (c.count > 1) next.axes_.push_back({c.count, c.step * pitch, stride, {}});
        grown.push_back(std::move(next));
      }
    pieces = std::move(grown);
  }
  for (Runs& piece : pieces) {
    piece.run_ = layout.element_size;
    piece.merge(memory_strides != nullptr);
    piece.finish();
  }
  return pieces;
}

Runs Runs::of_extents(const ArrayLayout& layout, const Section& section, std::int64_t stride) {
  auto table = std::make_shared<Table>();
  table->element_size = layout.element_size;
  table->memory_stride = stride;
  table->prefix.push_back(0);
  for (const ElementExtent& run : section.runs()) {
    if (run.end == run.begin) continue;
    table->file.push_back(layout.offset + run.begin * layout.element_size);
    table->prefix.push_back(table->prefix.back() + (run.end - run.begin) * layout.element_size);
  }
  Runs runs;
  runs.size_ = table->prefix.back();
  const std::size_t n = table->file.size();
  runs.hull_ = {table->file.front(), table->file.back() + table->prefix[n] - table->prefix[n - 1]};
  runs.table_ = std::move(table);
  return runs;
}

/// Longer runs and fewer axes, where neighbours in the file are neighbours in memory too.
void Runs::merge(bool with_memory) {
  while (!axes_.empty()) {
    const Axis& inner = axes_.back();
    if (inner.list || inner.file_step != run_ || (with_memory && inner.memory_step != run_)) break;
    run_ *= inner.count;
    axes_.pop_back();
  }
  for (std::size_t i = axes_.size(); i-- > 1;) {
    Axis& outer = axes_[i - 1];
    const Axis& inner = axes_[i];
    if (outer.list || inner.list || outer.file_step != inner.count * inner.file_step) continue;
    if (with_memory && outer.memory_step != inner.count * inner.memory_step) continue;
    outer.count *= inner.count;
    outer.file_step = inner.file_step;
    outer.memory_step = inner.memory_step;
    axes_.erase(axes_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void Runs::finish() {
  size_ = run_;
  hull_ = {file_base_, file_base_ + run_};
  for (std::size_t i = axes_.size(); i-- > 0;) {
    axes_[i].inner = size_;
    size_ *= axes_[i].count;
    hull_.begin += axes_[i].file_at(0);
    hull_.end += axes_[i].file_at(axes_[i].count - 1);
  }
}

std::int64_t Runs::below(std::int64_t offset) const noexcept {
  if (offset <= hull_.begin) return 0;
  if (offset >= hull_.end) return size_;
  if (table_) {
    const auto k = std::upper_bound(table_->file.begin(), table_->file.end(), offset) -
                   table_->file.begin() - 1;
    const std::int64_t length = table_->prefix[k + 1] - table_->prefix[k];
    return table_->prefix[k] + std::min(offset - table_->file[k], length);
  }
  std::int64_t rest = offset - file_base_, count = 0;
  for (const Axis& axis : axes_) {
    // All indices before this one end at or below `offset`, by invariant 2.
    if (rest < 0) return count;
    const std::int64_t index = axis.last_not_above(rest);
    if (index < 0) return count;
    count += index * axis.inner;
    rest -= axis.file_at(index);
  }
  return count + std::clamp<std::int64_t>(rest, 0, run_);
}

std::int64_t Runs::offset_at(std::int64_t packed) const noexcept {
  if (table_) {
    const auto k = std::upper_bound(table_->prefix.begin(), table_->prefix.end(), packed) -
                   table_->prefix.begin() - 1;
    return table_->file[k] + packed - table_->prefix[k];
  }
  std::int64_t offset = file_base_;
  for (const Axis& axis : axes_) {
    offset += axis.file_at(packed / axis.inner);
    packed %= axis.inner;
  }
  return offset + packed;
}

std::int64_t Runs::run_count(std::int64_t begin, std::int64_t end) const noexcept {
  if (begin >= end) return 0;
  if (!table_) return (end - 1) / run_ - begin / run_ + 1;
  const auto run_of = [&](std::int64_t p) {
    return std::upper_bound(table_->prefix.begin(), table_->prefix.end(), p) -
           table_->prefix.begin();
  };
  return run_of(end - 1) - run_of(begin) + 1;
}

bool Runs::one_run(std::int64_t begin, std::int64_t end) const noexcept {
  if (table_ && table_->memory_stride != table_->element_size)
    return begin / table_->element_size == (end - 1) / table_->element_size;
  return run_count(begin, end) == 1;
}

}  // namespace penstock
