// Facts about the file system of a file.
#pragma once

#include <cstdint>
#include <string>

#include <penstock/export.hpp>

namespace penstock {

/// What the file system tells about itself.
struct FileSystemFacts {
  std::string type;                   ///< "ext4", "lustre"...; the kernel's number where not known
  std::int64_t block_size = 0;        ///< the file system's preferred access
  std::int64_t stripe_size = 0;       ///< bytes before the next device; 0: it does not tell
  std::int64_t direct_alignment = 0;  ///< of offsets and lengths; 0: direct I/O does not work
  bool caches_agree = true;           ///< what one host writes, the page caches of others show
  bool several_caches = false;  ///< they do not, and ranks have several: accesses go past them
  bool locks_exclude = true;    ///< of several caches: byte-range locks keep other hosts out
  bool whole_pages = false;  ///< of several caches: accesses cannot go past them, and write pages
};

/// What one process finds out about the file system of a folder, or of a file, before ranks open a
/// file there. Whether they have several page caches shows only then.
struct PENSTOCK_EXPORT FileSystemReport {
  FileSystemFacts facts;
  bool locks = false;  ///< byte-range locks can be had
  /// Why neither locks nor direct I/O could be tried in a folder; empty: they were.
  std::string untried;
  /// The facts, how they were found, and what follows for calls.
  std::string to_text() const;
};

/// Of a file that is not there: of its folder, in which a file is made for a moment. Throws
/// Error(storage) where the folder is not there either, or the path leads to no file.
PENSTOCK_EXPORT FileSystemReport explain_file_system(const std::string& path);

}  // namespace penstock
