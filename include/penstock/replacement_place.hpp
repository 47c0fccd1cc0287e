// ReplacementPlace: where another library makes a file or folder that replaces an old one.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <penstock/export.hpp>

namespace penstock {

/// For bindings, on the rank that makes the file: an empty file or folder beside the one at `path`,
/// under a name that cannot be guessed. commit() puts it into the place of the old one in one step.
/// The destructor removes it unless that was done.
class PENSTOCK_EXPORT ReplacementPlace {
 public:
  enum class Kind { file, folder };
  /// Removes what killed programs have left of earlier ones. A link at `path` is followed. Throws
  /// Error(storage), also where the file system cannot exchange two folders in one step.
  ReplacementPlace(const std::filesystem::path& path, Kind kind);
  ReplacementPlace(const ReplacementPlace&) = delete;
  ~ReplacementPlace();

  /// Of the new file or folder.
  const std::string& path() const noexcept;
  /// All that is in it must be on the device. Throws Error(storage); then the old one is unchanged,
  /// unless the message says that the new one is in place.
  void commit();

 private:
  class Impl;
  class File;
  class Folder;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
