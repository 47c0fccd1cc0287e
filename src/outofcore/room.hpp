// The memory that is free for a process.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

/// Bytes that this machine, or the container around the process, can give. `root`: where the file
/// system begins.
std::int64_t find_free_memory(const std::string& root = "");

}  // namespace penstock
