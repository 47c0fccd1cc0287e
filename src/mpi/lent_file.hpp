// LentFile: a process's memory as an open file (memfd), for other processes of its node.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

/// They open it through /proc/PID/fd. If they do not see each other's processes (containers with
/// their own PID namespaces), that may be no file, or another one: so before it is opened it is
/// compared with the owner's data about it.
struct LentFile {
  std::int64_t process = 0;
  std::int64_t descriptor = -1;  // in that process; -1: none
  std::uint64_t device = 0, inode = 0;

  /// A descriptor of this process.
  static LentFile of(int descriptor) noexcept;
  /// Opens it in this process. -1: errno has the reason.
  int open() const noexcept;
};

/// What an errno of LentFile::open means, for messages.
std::string why_not_lent(int error);

}  // namespace penstock
