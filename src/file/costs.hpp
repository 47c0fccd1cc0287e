// The constants of the cost model for this machine and a file's storage.
#pragma once

#include <optional>

#include <penstock/costs.hpp>

#include "file/device.hpp"

namespace penstock {

/// Copies are measured once in a process. A modelled device tells its bandwidth and its latency.
Costs costs_of(const std::optional<Pace>& pace, bool page_cache, bool measure = true);

}  // namespace penstock
