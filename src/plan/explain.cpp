// explain(): the plan of a given request, worked out for all ranks in one process.
#include <penstock/explain.hpp>

#include <algorithm>

#include <penstock/error.hpp>

#include "array/lower.hpp"
#include "plan/cost.hpp"
#include "plan/coverage.hpp"

namespace penstock {
namespace {

/// Smallest and largest index in each dimension over all sections; with extents, the whole array.
std::vector<std::pair<std::int64_t, std::int64_t>> bounding_section(
    const RequestDescription& request) {
  std::vector<std::pair<std::int64_t, std::int64_t>> box;
  const auto grow = [&](std::size_t d, std::int64_t lower, std::int64_t upper) {
    if (box.size() <= d) box.resize(d + 1, {lower, upper});
    box[d] = {std::min(box[d].first, lower), std::max(box[d].second, upper)};
  };
  for (const auto& sections : request.sections)
    for (const Section& section : sections) {
      if (section.empty()) continue;
      for (std::size_t d = 0; d < request.shape.size(); ++d) {
        if (section.is_extents()) {
          grow(d, 0, request.shape[d]);
        } else if (const auto* range = std::get_if<Range>(&section.dimensions()[d])) {
          const std::int64_t last = range->lower +
                                    (range->count() - 1) / range->block * range->stride +
                                    (range->count() - 1) % range->block;
          grow(d, range->lower, last + 1);
        } else {
          const auto& list = std::get<IndexList>(section.dimensions()[d]);
          const auto [low, high] = std::minmax_element(list.begin(), list.end());
          grow(d, *low, *high + 1);
        }
      }
    }
  return box;
}

class DomainReport {
 public:
  DomainReport(const Plan& plan, const std::vector<Footprint>& requests, bool write)
      : plan_(plan), requests_(requests), write_(write), coverage_(nullptr) {}

  PlanReport::Domain of(std::int64_t aggregator) {
    const Domains& domains = plan_.domains;
    const Extent hull = domains.hull(aggregator);
    PlanReport::Domain report{
        plan_.rank_of(aggregator), hull.begin, hull.end, domains.blocks(aggregator), 0, 0, 0, 0};
    std::vector<const Footprint*> footprints;
    for (const Footprint& footprint : requests_) {
      if (next_round(domains, aggregator, footprint, 0) == domains.rounds(aggregator)) continue;
      footprints.push_back(&footprint);
    }
    const bool disjoint = are_apart(footprints) == Apart::yes;
    for (std::int64_t round = 0;; ++round) {
      std::int64_t least = domains.rounds(aggregator);
      for (const Footprint* footprint : footprints)
        least = std::min(least, next_round(domains, aggregator, *footprint, round));
      if (least == domains.rounds(aggregator)) return report;
      round = least;
      add_round(report, domains.window(aggregator, round), footprints, disjoint);
    }
  }

 private:
  void add_round(PlanReport::Domain& report, Extent window,
                 const std::vector<const Footprint*>& footprints, bool disjoint) {
    Extent trimmed{window.end, window.begin};
    std::int64_t wanted = 0, runs = 0;
    std::vector<WindowStream> streams;
    for (const Footprint* footprint : footprints) {
      streams.emplace_back(*footprint, window);
      if (streams.back().size() == 0) continue;
      trimmed.begin = std::min(trimmed.begin, footprint->next(window.begin));
      trimmed.end = std::max(trimmed.end, footprint->previous_end(window.end));
      wanted += streams.back().size();
      runs += streams.back().run_count();
    }
    const bool covered = !disjoint || (plan_.sieving.in_parts && wanted < trimmed.length());
    if (covered) {
      coverage_.restart(trimmed);
      for (const WindowStream& stream : streams)
        stream.for_each(0, stream.size(), [&](const Batch& batch) { coverage_.mark(batch); });
      wanted = coverage_.wanted();
      runs = coverage_.run_count();
    }
    ++report.rounds;
    report.wanted_bytes += wanted;
    report.hole_bytes += trimmed.length() - wanted;
    report.sieved_rounds += sieves({trimmed, wanted, runs}, covered) ? 1 : 0;
  }

  /// Whether holes are moved in some part of a window.
  bool sieves(const Coverage::Cluster& window, bool covered) const {
    if (window.wanted >= window.range.length()) return false;
    if (write_ && plan_.sieve_writes != SieveWrites::automatic)
      return plan_.sieve_writes == SieveWrites::always;
    const Sieving& sieving = plan_.sieving;
    bool some = false;
    const auto look_at = [&](const Coverage::Cluster& part) {
      some = some || sieving.pays(part, write_);
    };
    if (covered && sieving.in_parts)
      sieving.for_each_part(coverage_, window.range, write_, look_at);
    else look_at(window);
    return some;
  }

  const Plan& plan_;
  const std::vector<Footprint>& requests_;
  bool write_;
  Coverage coverage_;
};

void add_flows(PlanReport& report, const Plan& plan, const Footprint& request, int rank) {
  const Domains& domains = plan.domains;
  for (const std::int64_t aggregator : touched_aggregators(domains, request)) {
    std::int64_t bytes = 0;
    const std::int64_t rounds = domains.rounds(aggregator);
    if (domains.rule() != DomainRule::block_cyclic) {
      bytes = request.bytes_in(domains.hull(aggregator));
    } else {
      for (std::int64_t round = next_round(domains, aggregator, request, 0); round < rounds;
           round = next_round(domains, aggregator, request, round + 1))
        bytes += request.bytes_in(domains.window(aggregator, round));
    }
    report.flows.push_back({rank, plan.rank_of(aggregator), bytes});
  }
}

/// Why auto excludes methods without an exchange: here all requests are known, and not only their
/// hulls.
std::string why_exchange(const std::vector<Footprint>& requests, bool writes) {
  std::vector<const Footprint*> all;
  for (const Footprint& footprint : requests) all.push_back(&footprint);
  const Apart apart = are_apart(all);
  if (apart == Apart::yes) return "the ranks' bytes interleave in the file";
  return std::string(apart == Apart::no ? "" : "maybe ") +
         (writes ? "several ranks write the same bytes: the highest must win"
                 : "several ranks read the same bytes: none is to be read twice");
}

void add_alternatives(PlanReport& report, const std::vector<Prediction>& ways,
                      const std::vector<Footprint>& requests, bool writes) {
  for (const Prediction& way : ways) {
    const bool without = way.exchange == Exchange::automatic && !way.note.empty();
    report.alternatives.push_back(
        {way.method, way.exchange, way.seconds, way.eligible,
         without ? why_exchange(requests, writes) : std::string(way.note)});
  }
}

}  // namespace

PlanReport explain(const RequestDescription& request, const Hints& asked) {
  const ArrayLayout layout{request.shape, request.element_size, request.order, request.offset};
  layout.check();
  if (request.sections.empty())
    throw Error(ErrorClass::argument, "explain: the sections of at least one rank are needed");
  const int ranks = static_cast<int>(request.sections.size());
  std::vector<Footprint> requests;
  Demand demand;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto& sections = request.sections[static_cast<std::size_t>(rank)];
    try {
      for (const Section& section : sections) section.check(layout.shape);
    } catch (const Error& error) {
      throw Error(error.error_class(), "rank " + std::to_string(rank) + ": " + error.what());
    }
    requests.push_back(lower(layout, sections));
    demand.join(Demand::of(requests.back()));
  }
  Machine machine;
  machine.ranks = ranks;
  machine.nodes = std::clamp(request.nodes, 1, ranks);
  machine.writers = std::min(ranks, machine.nodes * std::max(1, request.cores));
  machine.shared_memory = true;
  machine.costs = request.costs;
  machine.page_cache = request.costs.page_cache;
  machine.stripe_size = request.stripe_size;
  const FileUnits units = layout.units();
  const Hints hints = resolve_hints(asked, machine, units.grain);
  const Plan plan = make_plan(units, demand, hints, machine, request.write);
  PlanReport report{plan.method,
                    plan.exchange,
                    plan.domains.rule(),
                    plan.reason.text(),
                    bounding_section(request),
                    plan.domains.span().begin,
                    plan.domains.span().end,
                    hints.buffer_size,
                    {},
                    {},
                    {},
                    request.costs};
  if (!demand.empty())
    add_alternatives(report, predict(units, demand, hints, machine, request.write), requests,
                     request.write);
  if (!plan.collective()) return report;
  DomainReport domain(plan, requests, request.write);
  for (std::int64_t a = 0; a < plan.domains.aggregators(); ++a)
    report.domains.push_back(domain.of(a));
  for (int rank = 0; rank < ranks; ++rank)
    add_flows(report, plan, requests[static_cast<std::size_t>(rank)], rank);
  return report;
}

}  // namespace penstock
