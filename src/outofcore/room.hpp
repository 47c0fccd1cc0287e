// Free memory available to a process.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

/// Bytes that this machine, or the container of the process, can provide. `root`: prefix of the
/// paths, for tests.
std::int64_t find_free_memory(const std::string& root = "");

}  // namespace penstock
