// What all storage kinds over a file of the operating system share, and files that formats open
// themselves.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/storage.hpp"

namespace penstock {

/// Closes the file when its storage and every lock on it are gone: releasing a lock on a closed
/// number would affect whichever file has got that number since.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  int number() const noexcept { return fd_; }

 private:
  int fd_;
};

/// Repeats a system call that a signal interrupted: an MPI library or a profiler may send signals
/// at any time, and only transfers have callers that repeat them.
template <class Call>
auto uninterrupted(Call&& call) {
  auto code = call();
  while (code < 0 && errno == EINTR) code = call();
  return code;
}

/// The most parts in one system call (IOV_MAX).
constexpr std::size_t most_parts = 1024;

/// One preadv or pwritev: a count, or -errno.
std::int64_t move_once(Direction direction, int fd, Parts memory, std::int64_t offset);

/// Opens a file like open_posix, with the same messages.
std::shared_ptr<Descriptor> open_descriptor(const std::string& path, OpenFlag flag);
std::unique_ptr<Storage> make_posix_storage(std::shared_ptr<Descriptor> file, std::string path);

/// Returns when a file, or the names in a folder, are on the device. Does nothing if it does not
/// exist. Throws Error(storage).
void sync_path(const std::string& path);
/// Throws the Error(storage) for a file that could not be opened.
[[noreturn]] void throw_open_error(const std::string& path, OpenFlag flag, int number);

}  // namespace penstock
