// Domains: which aggregator accesses which bytes, and in which rounds. A value of constant size:
// every query is arithmetic, so a plan for 100,000 ranks needs no memory per rank.
//
// Invariants:
//   1. The domains of all aggregators are disjoint, and together are exactly `span`.
//   2. A window (one round of one aggregator) is contiguous, at most `buffer` bytes long, and in
//      one domain; windows of one aggregator ascend with the round.
//   3. If units are indivisible, and `span` and `buffer` consist of whole ones, so does each
//      window.
#pragma once

#include <cstdint>

#include <penstock/hints.hpp>

#include "base/extent.hpp"
#include "pattern/units.hpp"

namespace penstock {

class Domains {
 public:
  Domains() = default;
  /// `span`: bytes to divide; `stripe`: block of block-cyclic, alignment of aligned.
  static Domains cut(DomainRule rule, const FileUnits& units, Extent span, std::int64_t aggregators,
                     std::int64_t buffer, std::int64_t stripe);

  DomainRule rule() const noexcept { return rule_; }
  Extent span() const noexcept { return span_; }
  std::int64_t aggregators() const noexcept { return aggregators_; }
  std::int64_t buffer() const noexcept { return buffer_; }
  /// Upper bound of a window's length: the buffer, or less if domains are short.
  std::int64_t longest_window() const noexcept;

  std::int64_t owner(std::int64_t offset) const noexcept;  // offset within span
  /// The whole domain; for block-cyclic its first and last byte.
  Extent hull(std::int64_t aggregator) const noexcept;
  std::int64_t blocks(std::int64_t aggregator) const noexcept;
  std::int64_t rounds(std::int64_t aggregator) const noexcept;
  Extent window(std::int64_t aggregator, std::int64_t round) const noexcept;
  /// The first round of `aggregator` whose window ends above `offset`; may be rounds().
  std::int64_t round_at(std::int64_t aggregator, std::int64_t offset) const noexcept;
  /// The end of the contiguous stretch around `offset` that has one owner.
  std::int64_t stretch_end(std::int64_t offset) const noexcept;

 private:
  bool cyclic() const noexcept { return rule_ == DomainRule::block_cyclic; }
  Extent block(std::int64_t index) const noexcept;  // block-cyclic, counted over all aggregators
  std::int64_t bound(std::int64_t aggregator) const noexcept;  // contiguous rules
  std::int64_t first_window(Extent domain) const noexcept { return domain.begin / align_ * align_; }
  std::int64_t rounds_per_block() const noexcept { return (unit_ + buffer_ - 1) / buffer_; }

  DomainRule rule_ = DomainRule::dynamic;
  Extent span_;
  std::int64_t aggregators_ = 1, buffer_ = 1;
  std::int64_t unit_ = 1;   // bounds of domains are whole units from origin_
  std::int64_t align_ = 1;  // of windows of contiguous domains, from offset 0
  std::int64_t origin_ = 0;
  std::int64_t units_ = 0;  // units that span_ touches
};

}  // namespace penstock
