#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <penstock/error.hpp>

#include "storage/storage.hpp"

namespace penstock {
namespace {

/// Linux moves at most 2 GiB less a page in one call; stay clear of it.
constexpr std::size_t longest_call = std::size_t{1} << 30;

std::int64_t result(ssize_t code) { return code < 0 ? -errno : code; }

/// Locks of an open file description (OFD), not of the process: they hold between two opens in
/// one process, and closing another descriptor of the file does not drop them.
int set_lock(int fd, short type, Extent range) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = range.begin;
  lock.l_len = range.length();
  int code = 0;
  do code = ::fcntl(fd, F_OFD_SETLKW, &lock);
  while (code < 0 && errno == EINTR);
  return code < 0 ? errno : 0;
}

class PosixLock : public RangeLock {
 public:
  PosixLock(int fd, Extent range) : fd_(fd), range_(range) {}
  ~PosixLock() override { set_lock(fd_, F_UNLCK, range_); }

 private:
  int fd_;
  Extent range_;
};

class PosixStorage : public Storage {
 public:
  PosixStorage(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~PosixStorage() override { ::close(fd_); }

  std::int64_t read_some(std::span<std::byte> into, std::int64_t offset) override {
    return result(::pread(fd_, into.data(), std::min(into.size(), longest_call), offset));
  }
  std::int64_t write_some(std::span<const std::byte> from, std::int64_t offset) override {
    return result(::pwrite(fd_, from.data(), std::min(from.size(), longest_call), offset));
  }
  std::int64_t size() override {
    struct stat status {};
    return ::fstat(fd_, &status) < 0 ? -errno : status.st_size;
  }
  std::int64_t resize(std::int64_t bytes) override { return result(::ftruncate(fd_, bytes)); }
  std::int64_t sync() override { return result(::fdatasync(fd_)); }
  std::unique_ptr<RangeLock> lock(Extent range, LockKind kind, int& error) override {
    error = set_lock(fd_, kind == LockKind::shared ? F_RDLCK : F_WRLCK, range);
    if (error != 0) return nullptr;
    return std::make_unique<PosixLock>(fd_, range);
  }
  const std::string& path() const override { return path_; }

 private:
  int fd_;
  std::string path_;
};

std::string advice(int number, const std::string& path) {
  switch (number) {
    case ENOENT: return "; check the name, and that its folder exists";
    case EACCES:
    case EPERM: return "; check the permissions of the file and of its folder";
    case EISDIR: return "; it is a folder, a file is needed";
    case EROFS: return "; the file system is mounted read-only";
    case EMFILE: return "; too many files are open (ulimit -n)";
    default: return path.empty() ? "; the path is empty" : "";
  }
}

}  // namespace

std::unique_ptr<Storage> open_posix(const std::string& path, OpenFlag flag) {
  const int access = flag == OpenFlag::read ? O_RDONLY : O_RDWR;
  // Not O_TRUNC: one rank empties the file, once all ranks have it open.
  const int fd =
      ::open(path.c_str(), access | O_CLOEXEC | (flag == OpenFlag::create ? O_CREAT : 0), 0666);
  struct stat status {};
  const bool is_folder = fd >= 0 && ::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
  if (fd >= 0 && !is_folder) return std::make_unique<PosixStorage>(fd, path);
  const int number = is_folder ? EISDIR : errno;
  if (fd >= 0) ::close(fd);
  throw Error("cannot open '" + path + "' for " + (flag == OpenFlag::read ? "reading" : "writing") +
                  ": " + std::strerror(number) + " (errno " + std::to_string(number) + ")" +
                  advice(number, path),
              path, -1, number);
}

}  // namespace penstock
