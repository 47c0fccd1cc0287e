// Files that are read as a whole or in whole pieces, and so must be regular ones: a pipe would wait
// for its other end, and a device may have no end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace penstock {

/// For an array's metadata and attributes: the longest text that is read or written.
constexpr std::int64_t longest_metadata = std::int64_t{16} << 20;

/// "a folder", "a pipe", ... for a mode returned by stat().
std::string kind_of_file(mode_t mode);
/// A descriptor for reading, which the caller closes; -1: no such file. Never waits. Throws
/// Error(storage) if it cannot be opened, or is not a regular file.
int open_regular(const std::string& path);
/// The whole file; nothing if it does not exist. Throws Error(storage), and Error(format) if it is
/// longer than `longest_metadata`.
std::optional<std::string> read_metadata_file(const std::string& path);

}  // namespace penstock
