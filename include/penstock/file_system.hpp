// Facts about the file system of a file.
#pragma once

#include <cstdint>
#include <string>

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
};

}  // namespace penstock
