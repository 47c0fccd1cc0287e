#include "engine/domain_table.hpp"

#include <algorithm>
#include <limits>

namespace penstock {

DomainTable::DomainTable(const Plan& plan, std::int64_t aggregator, Overlap overlap)
    : plan_(plan),
      aggregator_(aggregator),
      rounds_(aggregator < 0 ? 0 : plan.domains.rounds(aggregator)),
      overlap_(overlap) {}

void DomainTable::add(int rank, Footprint footprint) {
  Source source{rank, std::move(footprint), 0};
  source.round = next_round(plan_.domains, aggregator_, source.footprint, 0);
  if (source.round < rounds_) sources_.push_back(std::move(source));
}

void DomainTable::finalize() {
  std::vector<const Footprint*> footprints;
  for (const Source& source : sources_) footprints.push_back(&source.footprint);
  apart_ = are_apart(footprints);
  find_round();
}

void DomainTable::count_overlaps(Context& context) {
  if (apart_ != Apart::unknown || any_order()) return;
  const Timed watch(context.record, Phase::plan);
  Coverage coverage(&context.gauge, &context.pool);
  DomainTable table = *this;
  std::vector<WindowStream> streams;
  apart_ = Apart::yes;
  while (!table.finished() && apart_ == Apart::yes) {
    coverage.restart(table.take(streams));
    std::int64_t bytes = 0;
    for (const WindowStream& stream : streams) {
      stream.for_each(0, stream.size(), [&](const Batch& batch) { coverage.mark(batch); });
      bytes += stream.size();
    }
    if (coverage.wanted() < bytes) apart_ = Apart::no;
  }
  context.pool.give(BufferPool::Use::coverage, coverage.release());
}

void DomainTable::find_round() {
  round_ = std::numeric_limits<std::int64_t>::max();
  for (const Source& source : sources_) round_ = std::min(round_, source.round);
}

Extent DomainTable::take(std::vector<WindowStream>& streams) {
  const Extent extent = plan_.domains.window(aggregator_, round_);
  Extent trimmed{extent.end, extent.begin};
  streams.assign(sources_.size(), WindowStream());
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    Source& source = sources_[i];
    if (source.round != round_) continue;
    streams[i] = WindowStream(source.footprint, extent);
    trimmed.begin = std::min(trimmed.begin, source.footprint.next(extent.begin));
    trimmed.end = std::max(trimmed.end, source.footprint.previous_end(extent.end));
    source.round = next_round(plan_.domains, aggregator_, source.footprint, round_ + 1);
  }
  find_round();
  return trimmed;
}

std::vector<Extent> DomainTable::extents_left() const {
  std::vector<Extent> extents;
  for (std::int64_t round = round_; round < rounds_; ++round) {
    const Extent window = plan_.domains.window(aggregator_, round);
    Extent trimmed{window.end, window.begin};
    for (const Source& source : sources_) {
      trimmed.begin = std::min(trimmed.begin, source.footprint.next(window.begin));
      trimmed.end = std::max(trimmed.end, source.footprint.previous_end(window.end));
    }
    if (!trimmed.empty()) extents.push_back(trimmed);
  }
  return extents;
}

void DomainTable::open(Context& context, Window& window, std::byte* address) {
  window.round = round_;
  window.extent = plan_.domains.window(aggregator_, round_);
  const Extent trimmed = take(window.streams);
  if (address != nullptr) address += lead(window.extent.begin, plan_.domains.buffer());
  window.open().open(context, window.extent, window.streams, trimmed, disjoint(), address);
}

}  // namespace penstock
