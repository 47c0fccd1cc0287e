#include "access/footprint.hpp"

namespace penstock {

Footprint::Footprint(const ArrayLayout& layout, std::span<const Section> sections,
                     const std::vector<std::vector<std::int64_t>>* strides) {
  for (std::size_t s = 0; s < sections.size(); ++s)
    for (Runs& runs : Runs::of(layout, sections[s], strides ? &(*strides)[s] : nullptr)) {
      const Extent hull = runs.hull();
      hull_ = pieces_.empty()
                  ? hull
                  : Extent{std::min(hull_.begin, hull.begin), std::max(hull_.end, hull.end)};
      bytes_ += runs.size();
      pieces_.push_back(std::move(runs));
      sections_.push_back(s);
    }
}

std::int64_t Footprint::run_count() const noexcept {
  std::int64_t count = 0;
  for (const Runs& runs : pieces_) count += runs.run_count(0, runs.size());
  return count;
}

std::int64_t Footprint::bytes_in(Extent window) const noexcept {
  std::int64_t bytes = 0;
  for (const Runs& runs : pieces_) {
    const Extent part = intersect(window, runs.hull());
    if (!part.empty()) bytes += runs.below(part.end) - runs.below(part.begin);
  }
  return bytes;
}

std::int64_t Footprint::next(std::int64_t offset) const noexcept {
  std::int64_t first = nowhere;
  for (const Runs& runs : pieces_) {
    if (offset >= runs.hull().end || runs.hull().begin >= first) continue;
    first = std::min(first, runs.offset_at(runs.below(offset)));
  }
  return first;
}

std::int64_t Footprint::previous_end(std::int64_t offset) const noexcept {
  std::int64_t last = -1;
  for (const Runs& runs : pieces_) {
    if (offset <= runs.hull().begin) continue;
    last = std::max(last, runs.offset_at(runs.below(offset) - 1) + 1);
  }
  return last;
}

WindowStream::WindowStream(const Footprint& footprint, Extent window) {
  for (std::size_t i = 0; i < footprint.pieces().size(); ++i) {
    const Runs& runs = footprint.pieces()[i];
    const Extent part = intersect(window, runs.hull());
    if (part.empty()) continue;
    const std::int64_t begin = runs.below(part.begin), end = runs.below(part.end);
    if (begin == end) continue;
    slices_.push_back({&runs, footprint.section_of(i), begin, end});
    size_ += end - begin;
  }
}

std::int64_t WindowStream::run_count() const noexcept {
  std::int64_t count = 0;
  for (const Slice& s : slices_) count += s.runs->run_count(s.begin, s.end);
  return count;
}

bool WindowStream::one_run(std::int64_t begin, std::int64_t end) const noexcept {
  std::int64_t start = 0;
  for (const Slice& s : slices_) {
    const std::int64_t length = s.end - s.begin;
    if (begin < start + length)
      return end <= start + length &&
             s.runs->one_run(s.begin + begin - start, s.begin + end - start);
    start += length;
  }
  return false;
}

bool all_disjoint(std::span<const Section* const> sections, std::size_t limit) {
  if (sections.size() > limit) return false;
  for (std::size_t i = 0; i < sections.size(); ++i)
    for (std::size_t j = i + 1; j < sections.size(); ++j)
      if (sections[i]->may_intersect(*sections[j])) return false;
  return true;
}

}  // namespace penstock
