#include "mpi/lent_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/failure.hpp"

namespace penstock {
namespace {

/// The errno for a process that is not visible here.
constexpr int out_of_sight = ESRCH;

}  // namespace

LentFile LentFile::of(int descriptor) noexcept {
  LentFile file;
  struct stat status {};
  file.process = ::getpid();
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) return file;
  file.descriptor = descriptor;
  file.device = status.st_dev;
  file.inode = status.st_ino;
  return file;
}

int LentFile::open() const noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%lld/fd/%lld", static_cast<long long>(process),
                static_cast<long long>(descriptor));
  struct stat status {};
  const auto is_it = [&] { return status.st_dev == device && status.st_ino == inode; };
  // Before opening, which may have side effects on a file of somebody else.
  if (::stat(path, &status) != 0) {
    if (errno == ENOENT) errno = out_of_sight;
    return -1;
  }
  if (!is_it()) {
    errno = out_of_sight;
    return -1;
  }
  const int opened = ::open(path, O_RDWR | O_CLOEXEC);
  if (opened < 0) return -1;
  if (::fstat(opened, &status) == 0 && is_it()) return opened;
  ::close(opened);
  errno = out_of_sight;
  return -1;
}

std::string why_not_lent(int error) {
  if (error == out_of_sight)
    return "its ranks do not see each other's processes (containers with PID namespaces of their "
           "own, or no /proc)";
  return text_of_errno(error);
}

}  // namespace penstock
