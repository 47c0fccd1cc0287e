// The cost model: what each way of carrying out a request would take on this machine, roughly. Its
// purpose is the order of the alternatives, not the last ten per cent. docs/DESIGN.md explains it.
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
  std::string_view note;  // why not
};

/// The exchange of a collective method: the one that is asked for where it works, else the quicker
/// one. `hints`: of resolve_hints, here and below.
Exchange exchange_of(const FileUnits& units, const Demand& demand, const Hints& hints,
                     const Machine& machine, bool writes);

/// One entry per method, and for `extended` one per exchange that auto considers or that
/// is asked for. `writes`: else a read.
std::vector<Prediction> predict(const FileUnits& units, const Demand& demand, const Hints& hints,
                                const Machine& machine, bool writes);

/// How many ranks do best to touch storage in a collective method, where the hints leave it open:
/// one for each core. Where windows may have holes more of them. Of a device every rank, since a
/// request of one waits while others are carried out: so, too, where ranks want the same bytes, and
/// what they want together says nothing of holes. Of the page cache as far as there is a window of
/// `window` bytes for each, since finding and moving holes keeps an aggregator busy.
std::int64_t aggregators_for(const Demand& demand, const Machine& machine,
                             std::int64_t window) noexcept;

/// Whether a direct read does better by copying out of the mapped file than by a call for each run.
/// Never where some rank's bytes are not in the page cache.
bool mapping_pays(const Demand& demand, const Machine& machine) noexcept;

}  // namespace penstock
