// How much memory this process can still get if it is limited.
#pragma once

#include <cstdint>
#include <limits>

namespace penstock {

constexpr std::int64_t no_memory_limit = std::numeric_limits<std::int64_t>::max();

/// Bytes that could be allocated now, at most `most`. no_memory_limit if neither a limit of the
/// process (ulimit -v, -d) nor the system (vm.overcommit_memory=2) refuses memory; this costs two
/// system calls.
std::int64_t obtainable_memory(std::int64_t most) noexcept;

}  // namespace penstock
