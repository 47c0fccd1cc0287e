// Properties of a file system, for choosing how to access a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <penstock/file_system.hpp>

namespace penstock {

/// The facts of an existing file. Throws Error(storage) if it cannot be opened.
FileSystemFacts find_facts(const std::string& path);

/// For an open file: whether one host reads what another writes, how that was determined, and the
/// consequences.
std::string describe_caches(const FileSystemFacts& facts);

/// Identifies the file at a path, by a text that is the same on all hosts that share it. Throws
/// Error(storage).
std::string find_identity(const std::string& path);

/// The type of the file system of an open file; ext2 and ext3 are reported as ext4, since they
/// cannot be told apart.
std::string find_file_system_type(int fd);
/// By its type: whether several hosts, or several mounts of one host, may have the file system.
/// Device numbers differ between these, and locks may be visible in one mount only.
bool is_shared_by_hosts(const std::string& type);

/// Alignment of addresses and offsets that direct I/O requires; 0: it does not work.
struct DirectAlignment {
  std::int64_t memory = 0;
  std::int64_t offset = 0;
};
/// `fd` is open with O_DIRECT.
DirectAlignment find_direct_alignment(int fd);

/// The stripe size of an open file; 0: unknown.
std::int64_t find_stripe_size(int fd, const std::string& type, std::int64_t block_size);

/// The stripe size in the attribute "lustre.lov"; 0: not a plain layout, or not a layout.
std::int64_t lustre_stripe_size(std::span<const std::byte> attribute);

}  // namespace penstock
