#include "plan/domains.hpp"

#include <algorithm>

namespace penstock {
namespace {

using Wide = __int128;  // offset * aggregators passes 64 bits for the largest files

constexpr std::int64_t page = 4096;

/// Domains are sets of whole slabs of the slowest dimension (the paper's columns) if there are
/// enough of them to share fairly; else of the next dimension, and finally of grains.
std::int64_t slab(const FileUnits& units, Extent span, std::int64_t aggregators) {
  for (const std::int64_t size : units.slabs) {
    if (size == 0 || span.empty()) continue;
    const std::int64_t slabs =
        (span.end - units.all.begin - 1) / size - (span.begin - units.all.begin) / size + 1;
    // An even division is fair however few slabs there are.
    if (slabs >= 4 * aggregators || slabs % aggregators == 0) return size;
  }
  return units.grain;
}

}  // namespace

Domains Domains::cut(DomainRule rule, const FileUnits& units, Extent span, std::int64_t aggregators,
                     std::int64_t buffer, std::int64_t stripe) {
  Domains d;
  d.rule_ = rule;
  d.span_ = span;
  d.aggregators_ = std::max<std::int64_t>(1, aggregators);
  d.buffer_ = buffer;
  const bool striped = rule == DomainRule::block_cyclic || rule == DomainRule::aligned;
  const std::int64_t piece = units.indivisible;
  if (striped) d.unit_ = piece == 0 ? stripe : (stripe + piece - 1) / piece * piece;
  else d.unit_ = piece == 0 ? slab(units, span, d.aggregators_) : piece;
  // Windows of contiguous domains begin at whole pages of the file if the buffer allows, so that no
  // page is written in two rounds.
  if (piece == 0 && buffer % page == 0) d.align_ = page;
  const std::int64_t zero = striped && piece == 0 ? 0 : units.all.begin;
  d.origin_ = zero + (span.begin - zero) / d.unit_ * d.unit_;
  d.units_ = span.empty() ? 0 : (span.end - d.origin_ + d.unit_ - 1) / d.unit_;
  return d;
}

std::int64_t Domains::bound(std::int64_t aggregator) const noexcept {
  const auto units = static_cast<std::int64_t>(Wide(units_) * aggregator / aggregators_);
  return std::clamp(origin_ + units * unit_, span_.begin, span_.end);
}

std::int64_t Domains::longest_window() const noexcept {
  const std::int64_t units = cyclic() ? 1 : (units_ + aggregators_ - 1) / aggregators_;
  return std::min({buffer_, units * unit_, span_.length()});
}

Extent Domains::block(std::int64_t index) const noexcept {
  const std::int64_t begin = origin_ + index * unit_;
  return intersect({begin, begin + unit_}, span_);
}

std::int64_t Domains::owner(std::int64_t offset) const noexcept {
  const std::int64_t unit = (offset - origin_) / unit_;
  if (cyclic()) return unit % aggregators_;
  return static_cast<std::int64_t>((Wide(unit + 1) * aggregators_ - 1) / units_);
}

std::int64_t Domains::blocks(std::int64_t aggregator) const noexcept {
  if (!cyclic()) return bound(aggregator) < bound(aggregator + 1) ? 1 : 0;
  return units_ > aggregator ? (units_ - aggregator - 1) / aggregators_ + 1 : 0;
}

Extent Domains::hull(std::int64_t aggregator) const noexcept {
  if (!cyclic()) return {bound(aggregator), bound(aggregator + 1)};
  const std::int64_t count = blocks(aggregator);
  if (count == 0) return {span_.end, span_.end};
  return {block(aggregator).begin, block(aggregator + (count - 1) * aggregators_).end};
}

std::int64_t Domains::rounds(std::int64_t aggregator) const noexcept {
  if (cyclic()) return blocks(aggregator) * rounds_per_block();
  const Extent domain = hull(aggregator);
  if (domain.empty()) return 0;
  return (domain.end - first_window(domain) + buffer_ - 1) / buffer_;
}

Extent Domains::window(std::int64_t aggregator, std::int64_t round) const noexcept {
  if (cyclic()) {
    const std::int64_t per_block = rounds_per_block();
    const std::int64_t index = aggregator + round / per_block * aggregators_;
    const std::int64_t start = origin_ + index * unit_ + round % per_block * buffer_;
    return intersect({start, start + buffer_}, block(index));
  }
  const Extent domain = hull(aggregator);
  const std::int64_t start = first_window(domain) + round * buffer_;
  return intersect({start, start + buffer_}, domain);
}

std::int64_t Domains::round_at(std::int64_t aggregator, std::int64_t offset) const noexcept {
  if (cyclic()) {
    const std::int64_t per_block = rounds_per_block();
    const std::int64_t index = std::max<std::int64_t>(0, offset - origin_) / unit_;
    const std::int64_t turn = index / aggregators_, at = index % aggregators_;
    if (at == aggregator)
      return turn * per_block + std::max<std::int64_t>(0, offset - origin_) % unit_ / buffer_;
    return (at < aggregator ? turn : turn + 1) * per_block;
  }
  const Extent domain = hull(aggregator);
  if (offset <= domain.begin) return 0;
  if (offset >= domain.end) return rounds(aggregator);
  return (offset - first_window(domain)) / buffer_;
}

std::int64_t Domains::stretch_end(std::int64_t offset) const noexcept {
  if (cyclic()) return block((offset - origin_) / unit_).end;
  return bound(owner(offset) + 1);
}

}  // namespace penstock
