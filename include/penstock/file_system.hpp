// Facts about the file system of a file.
#pragma once

#include <cstdint>
#include <string>

#include <penstock/export.hpp>

namespace penstock {

/// Properties of a file system.
struct FileSystemFacts {
  std::string type;                   ///< "ext4", "lustre"...; the kernel's number if unknown
  std::int64_t block_size = 0;        ///< the file system's preferred access size
  std::int64_t stripe_size = 0;       ///< bytes before the next device; 0: unknown
  std::int64_t direct_alignment = 0;  ///< of offsets and lengths; 0: direct I/O does not work
  bool caches_agree = true;     ///< what one host writes is visible in the page caches of others
  bool several_caches = false;  ///< they do not agree, and ranks have several: accesses bypass them
  bool locks_exclude = true;    ///< with several caches: byte-range locks exclude other hosts
  bool whole_pages = false;  ///< with several caches: accesses cannot bypass them, and write pages
};

/// What one process can determine about the file system of a folder, or of a file, before ranks
/// open a file there. Whether the ranks have several page caches is only known then.
struct PENSTOCK_EXPORT FileSystemReport {
  FileSystemFacts facts;
  bool locks = false;  ///< byte-range locks work
  /// Why locks and direct I/O could not be tried in a folder; empty: they were.
  std::string untried;
  /// The facts, how they were determined, and their consequences.
  std::string to_text() const;
};

/// For a file that does not exist: of its folder, in which a temporary file is made. Throws
/// Error(storage) if the folder does not exist either, or the path does not lead to a file.
PENSTOCK_EXPORT FileSystemReport explain_file_system(const std::string& path);

}  // namespace penstock
