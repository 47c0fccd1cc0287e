// ZarrGroups: the groups that contain a new array, from the folder whose name ends in ".zarr" down.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace penstock {

class ZarrGroups {
 public:
  /// `path`: of the array.
  explicit ZarrGroups(const std::string& path);
  ZarrGroups(const ZarrGroups&) = delete;
  /// Removes folders that it made, unless publish() has run.
  ~ZarrGroups();

  /// Makes the folders. Throws Error(format) if one is an array, Error(storage).
  void make_folders();
  /// Writes missing metadata files. Throws Error(storage).
  void publish();

 private:
  std::vector<std::filesystem::path> folders_, made_;  // outermost first
};

}  // namespace penstock
