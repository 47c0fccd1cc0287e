// The cost model: roughly how long each method would take on this machine. It is meant to rank the
// alternatives, not to be accurate to 10 per cent. docs/DESIGN.md explains it.
#pragma once

#include <string_view>
#include <vector>

#include "plan/plan.hpp"

namespace penstock {

struct Prediction {
  Method method;
  Exchange exchange;  // of a collective method
  double seconds;
  bool eligible;          // whether auto may choose it
  std::string_view note;  // why it is not
};

/// The exchange of a collective method: the requested one if it is possible, else the faster one.
/// `hints`: from resolve_hints, here and below.
Exchange exchange_of(const FileUnits& units, const Demand& demand, const Hints& hints,
                     const Machine& machine, bool writes);

/// One entry per method, and for `extended` one per exchange that auto considers or that is
/// requested. `writes`: false for a read.
std::vector<Prediction> predict(const FileUnits& units, const Demand& demand, const Hints& hints,
                                const Machine& machine, bool writes);

/// How many ranks should access storage in a collective method if the hints leave it open. For a
/// page cache one per core; more if windows may have holes, as far as there is a window of `window`
/// bytes for each, since finding and moving holes keeps an aggregator busy. For a device every
/// rank, since a request of one waits while others are carried out; also if ranks want the same
/// bytes, since their sum says nothing about holes.
std::int64_t aggregators_for(const Demand& demand, const Machine& machine,
                             std::int64_t window) noexcept;

/// Whether a direct read should copy out of the mapped file instead of one call per run. Never if
/// some rank's bytes are not in the page cache.
bool mapping_pays(const Demand& demand, const Machine& machine) noexcept;

}  // namespace penstock
