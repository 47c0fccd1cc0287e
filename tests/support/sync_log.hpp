// Records what a test's program syncs: its own fsync and fdatasync replace the C library's.
#pragma once

#include <string>
#include <vector>

namespace penstock::test {

struct Synced {
  std::string path;      ///< of the file or folder at that time
  std::string content;   ///< of a file
  bool past_cache;       ///< its descriptor has O_DIRECT
  bool with_attributes;  ///< permissions and owner as well
};

/// Calls since the last call of this function, in order.
std::vector<Synced> take_synced();
bool has_path(const std::vector<Synced>& synced, const std::string& path);

}  // namespace penstock::test
