// What a test's program has brought to the device: its own fsync and fdatasync take the place of
// the C library's.
#pragma once

#include <string>
#include <vector>

namespace penstock::test {

struct Synced {
  std::string path;      ///< of the file or folder, as it was called then
  std::string content;   ///< of a file
  bool past_cache;       ///< its descriptor has O_DIRECT
  bool with_attributes;  ///< permissions and owner as well
};

/// Calls since the last one of this function, in their order.
std::vector<Synced> take_synced();
bool has_path(const std::vector<Synced>& synced, const std::string& path);

}  // namespace penstock::test
