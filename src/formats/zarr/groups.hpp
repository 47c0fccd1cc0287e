// ZarrGroups: the groups that a new array lies in, from the folder whose name ends in ".zarr" down.
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
  /// Folders that were made go, unless tell() has run.
  ~ZarrGroups();

  /// Folders for all. Throws Error(format) where one is an array, Error(storage).
  void make_folders();
  /// Their metadata, where there is none. Throws Error(storage).
  void tell();

 private:
  std::vector<std::filesystem::path> folders_, made_;  // outermost first
};

}  // namespace penstock
