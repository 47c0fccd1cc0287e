#include "storage/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

#include "base/failure.hpp"
#include "storage/posix.hpp"

namespace penstock {
namespace {

[[noreturn]] void refuse(const std::string& path, mode_t mode) {
  throw Error("'" + path + "' is " + kind_of_file(mode) +
                  ", where only a regular file can be; remove it, or name another array",
              path, -1, S_ISDIR(mode) ? EISDIR : ESPIPE);
}

}  // namespace

std::string kind_of_file(mode_t mode) {
  if (S_ISREG(mode)) return "a regular file";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

int open_regular(const std::string& path) {
  const int fd = uninterrupted(
      [&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); });
  const int number = errno;
  struct stat status {};
  if (fd < 0 && number == ENOENT) return -1;
  // A socket cannot be opened.
  if (fd < 0 && number == ENXIO && ::stat(path.c_str(), &status) == 0) refuse(path, status.st_mode);
  if (fd < 0) throw_errno("opening", path, -number);
  const bool known = ::fstat(fd, &status) == 0;
  if (known && S_ISREG(status.st_mode)) return fd;
  const int why = errno;
  ::close(fd);
  if (!known) throw_errno("looking at", path, -why);
  refuse(path, status.st_mode);
}

std::optional<std::string> read_metadata_file(const std::string& path) {
  const Descriptor file(open_regular(path));
  if (file.number() < 0) return std::nullopt;
  std::string text;
  char part[65536];
  for (ssize_t got = sizeof part; got > 0;) {
    got = uninterrupted([&] { return ::read(file.number(), part, sizeof part); });
    if (got < 0) throw_errno("reading", path, -errno);
    text.append(part, static_cast<std::size_t>(got));
    if (std::ssize(text) > longest_metadata)
      throw Error(ErrorClass::format, "'" + path +
                                          "' is longer than 16 MiB, which is the most that "
                                          "is read of what describes an array; it is damaged");
  }
  return text;
}

}  // namespace penstock
