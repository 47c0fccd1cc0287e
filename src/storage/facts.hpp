// What a file system tells about itself, for choosing how to access a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <penstock/file_system.hpp>

namespace penstock {

/// The facts of an existing file. Throws Error(storage) where it cannot be opened.
FileSystemFacts find_facts(const std::string& path);

/// Of an open file: whether what one host writes is what others read, how that was found, and what
/// follows.
std::string describe_caches(const FileSystemFacts& facts);

/// Which file a path leads to, as text that is the same on all hosts that share it. Throws
/// Error(storage).
std::string find_identity(const std::string& path);

/// The type of the file system of an open file; ext2 and ext3 are called ext4, as they look alike.
std::string find_file_system_type(int fd);
/// By its type: whether several hosts, or several mounts of one host, may have the file system.
/// Each numbers its devices as it comes, and locks may be seen by one mount alone.
bool is_shared_by_hosts(const std::string& type);

/// What direct I/O asks of addresses and of offsets; 0: it does not work.
struct DirectAlignment {
  std::int64_t memory = 0;
  std::int64_t offset = 0;
};
/// `fd` is open with O_DIRECT.
DirectAlignment find_direct_alignment(int fd);

/// The stripe size of a file of which nothing but the descriptor is known; 0: nobody tells.
std::int64_t find_stripe_size(int fd, const std::string& type, std::int64_t block_size);

/// The stripe size in the attribute "lustre.lov"; 0: not a plain layout, or not one at all.
std::int64_t lustre_stripe_size(std::span<const std::byte> attribute);

}  // namespace penstock
