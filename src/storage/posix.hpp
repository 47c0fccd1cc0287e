// What all storage kinds over a file of the operating system have in common; and files that formats
// open themselves.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/storage.hpp"

namespace penstock {

/// Closes the file when its storage and every lock on it are gone: a lock given back on a closed
/// number would be given back on whichever file has got that number since.
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

/// Repeats a system call that a signal cut short: an MPI library or a profiler may send signals
/// at any time, and only transfers have a caller that repeats them.
template <class Call>
auto uninterrupted(Call&& call) {
  auto code = call();
  while (code < 0 && errno == EINTR) code = call();
  return code;
}

/// The most parts that one system call takes (IOV_MAX).
constexpr std::size_t most_parts = 1024;

/// One preadv or pwritev: a count, or -errno.
std::int64_t move_once(Direction direction, int fd, Parts memory, std::int64_t offset);

/// Opens a file as open_posix does, with the same messages.
std::shared_ptr<Descriptor> open_descriptor(const std::string& path, OpenFlag flag);
std::unique_ptr<Storage> make_posix_storage(std::shared_ptr<Descriptor> file, std::string path);

/// Returns when a file, or the names in a folder, are on the device; nothing where it is not there.
/// Throws Error(storage).
void sync_path(const std::string& path);
/// Throws the Error(storage) of a file that could not be opened.
[[noreturn]] void throw_open_error(const std::string& path, OpenFlag flag, int number);

}  // namespace penstock
