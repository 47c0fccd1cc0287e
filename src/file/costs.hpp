// The constants of the cost model for this machine and a file's storage.
#pragma once

#include <optional>
#include <string_view>

#include <penstock/costs.hpp>

#include "file/device.hpp"

namespace penstock {

/// Copies are measured once in a process. A modelled device tells its bandwidth and its latency.
Costs costs_of(const std::optional<Pace>& pace, bool page_cache, bool measure = true);

/// Whether reads may copy out of the mapped file: through the page cache, with nothing between, and
/// of a local file system. One of a network checks on each call whether its pages are still right.
bool maps_files(const Hints& hints, std::string_view file_system);

}  // namespace penstock
