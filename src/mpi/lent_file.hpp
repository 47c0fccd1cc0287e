// LentFile: memory that a process has as an open file (memfd), for the other processes of its node.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

/// They open it through /proc/PID/fd. Where they do not see each other's processes (containers with
/// PID namespaces of their own), that is no file, or any other one: so what is found there is
/// compared with what the owner knows of its file before it is opened.
struct LentFile {
  std::int64_t process = 0;
  std::int64_t descriptor = -1;  // of that process; -1: none
  std::uint64_t device = 0, inode = 0;

  /// Of this process.
  static LentFile of(int descriptor) noexcept;
  /// A descriptor of it in this process. -1: errno says why.
  int open() const noexcept;
};

/// What an errno of LentFile::open means, for the reader.
std::string why_not_lent(int error);

}  // namespace penstock
