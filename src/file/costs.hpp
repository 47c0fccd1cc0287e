// The constants of the cost model for this machine and a file's storage.
#pragma once

#include <optional>
#include <string_view>

#include <penstock/costs.hpp>

#include "file/device.hpp"

namespace penstock {

/// Copies are measured once per process. For a modelled device, bandwidth and latency are given.
Costs costs_of(const std::optional<Pace>& pace, bool page_cache, bool measure = true);

/// Whether reads may copy out of the mapped file: through the page cache of a local file system,
/// without a device in between. Network file systems revalidate their pages on each call.
bool maps_files(const Hints& hints, std::string_view file_system);

}  // namespace penstock
