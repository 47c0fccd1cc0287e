// Files that are read as a whole or by whole pieces, and so must be regular ones: a pipe would wait
// for its other end, and a device may have no end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace penstock {

/// Of what describes an array, and of its attributes: the longest text that is read or written.
constexpr std::int64_t longest_metadata = std::int64_t{16} << 20;

/// "a folder", "a pipe", of what stat() has found.
std::string kind_of_file(mode_t mode);
/// A number to read from, which the caller closes; -1: it is not there. Never waits. Throws
/// Error(storage) where it cannot be opened, or is no regular file.
int open_regular(const std::string& path);
/// All of it; none where it is not there. Throws Error(storage), and Error(format) where it is
/// longer than `longest_metadata`.
std::optional<std::string> read_metadata_file(const std::string& path);

}  // namespace penstock
