#include "storage/posix.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include <penstock/error.hpp>

#include "base/failure.hpp"
#include "storage/client_caches.hpp"
#include "storage/file_lock.hpp"
#include "storage/mapped.hpp"
#include "storage/regular_file.hpp"

namespace penstock {
namespace {

std::int64_t result(std::int64_t code) {
  return code < 0 ? -errno : code;
}

class PosixLock : public RangeLock {
 public:
  PosixLock(std::shared_ptr<Descriptor> file, Extent range)
      : file_(std::move(file)), range_(range) {}
  ~PosixLock() override { set_lock(file_->number(), F_UNLCK, range_, {}); }

 private:
  std::shared_ptr<Descriptor> file_;
  Extent range_;
};

class PosixStorage : public Storage {
 public:
  PosixStorage(std::shared_ptr<Descriptor> file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override {
    return move_once(direction, fd(), memory, offset);
  }
  /// In steps, since one call reads at most a device's largest request.
  bool read_ahead(Extent range) override {
    constexpr std::int64_t step = 128 * 1024;
    for (std::int64_t at = range.begin; at < range.end; at += step)
      ::posix_fadvise(fd(), at, std::min(step, range.end - at), POSIX_FADV_WILLNEED);
    return true;
  }
  bool is_cached(std::int64_t offset) override {
    char byte = 0;
    const iovec into{&byte, 1};
    return ::preadv2(fd(), &into, 1, offset, RWF_NOWAIT) >= 0;
  }
  bool read_mapped(Extent range, std::int64_t, const MappedCopy& copy) override {
    return mapped_.read(fd(), range, copy);
  }
  std::int64_t drop(Extent range) override {
    if (range.empty()) return 0;
    return result(uninterrupted([&] {
      return ::fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, range.begin,
                         range.length());
    }));
  }
  /// For an open file, whose server has not reported an alignment, as clients of network file
  /// systems do not. If one is required, accesses cannot bypass the cache.
  bool bypass_cache(bool past) override {
    asks_server_ = true;
    const int flags = ::fcntl(fd(), F_GETFL) & ~O_DIRECT;
    if (::fcntl(fd(), F_SETFL, past ? flags | O_DIRECT : flags) != 0) return false;
    char byte = 0;
    if (!past || ::pread(fd(), &byte, 1, 1) >= 0 || errno != EINVAL) return true;
    ::fcntl(fd(), F_SETFL, flags);
    return false;
  }
  void forget_cached() override {
    penstock::forget_cached(fd());
    // User-space clients keep what they have read ahead of a small file until they change it.
    if (asks_server_) static_cast<void>(::fallocate(fd(), FALLOC_FL_KEEP_SIZE, 0, 1));
  }
  std::int64_t size() override {
    if (asks_server_) return server_size(fd());
    struct stat status {};
    const std::int64_t code = result(::fstat(fd(), &status));
    return code < 0 ? code : status.st_size;
  }
  std::int64_t resize(std::int64_t bytes) override {
    return result(uninterrupted([&] { return ::ftruncate(fd(), bytes); }));
  }
  std::int64_t allocate(std::int64_t bytes) override {
    if (bytes == 0) return 0;
    const std::int64_t code = result(uninterrupted([&] { return ::fallocate(fd(), 0, 0, bytes); }));
    return code == -EOPNOTSUPP ? Storage::allocate(bytes) : code;
  }
  std::int64_t sync() override {
    return result(uninterrupted([&] { return ::fdatasync(fd()); }));
  }
  std::unique_ptr<RangeLock> lock(Extent range, LockKind kind, int& error) override {
    error = 0;
    // For the kernel a length of 0 means "to the end of the file and beyond".
    if (range.empty()) return std::make_unique<RangeLock>();
    error = set_lock(fd(), kind == LockKind::shared ? F_RDLCK : F_WRLCK, range, path_);
    if (error != 0) return nullptr;
    return std::make_unique<PosixLock>(file_, range);
  }
  const std::string& path() const override { return path_; }

 private:
  int fd() const noexcept { return file_->number(); }

  std::shared_ptr<Descriptor> file_;
  std::string path_;
  MappedFile mapped_;
  std::atomic<bool> asks_server_ = false;
};

const char* advice(int number, OpenFlag flag) {
  switch (number) {
    case ENOENT:
      if (flag >= OpenFlag::create) return "; make its folder first";
      return "; check the name, or create the file first";
    case ENOTDIR: return "; a part of the path is a file where a folder is needed";
    case EACCES:
    case EPERM:
      if (flag == OpenFlag::replace)
        return "; replace makes a new file in its folder, which this process must be allowed to do";
      return "; check the permissions of the file and of its folder";
    case EISDIR: return "; this is a folder, name a file in it";
    case EEXIST:
      return "; this mode makes a new file only: choose another name, or remove it first";
    case EROFS: return "; the file system is mounted read-only, choose another folder";
    case ENOSPC:
    case EDQUOT: return "; free some space, or choose another folder";
    case ENXIO: return "; it is a socket or a device, and arrays need a file";
    case ELOOP: return "; symbolic links in the path lead back to themselves";
    case ENAMETOOLONG: return "; a name in the path is longer than the file system allows";
    case EMFILE: return "; this process has too many files open, see ulimit -n";
    default: return "";
  }
}

int open_flags(OpenFlag flag) {
  // O_NONBLOCK: opening a named pipe would block until its other end is opened, although pipes are
  // refused. Cleared after that check.
  constexpr int always = O_CLOEXEC | O_NONBLOCK;
  if (flag == OpenFlag::read) return O_RDONLY | always;
  // Not O_TRUNC: the old content is removed only once all ranks have opened the file.
  return O_RDWR | always | (flag >= OpenFlag::create ? O_CREAT : 0) |
         (flag == OpenFlag::create_new ? O_EXCL : 0);
}

/// Files that can be accessed at any offset, including /dev/null; not pipes, sockets or terminals.
bool is_seekable_file(int fd, mode_t mode) noexcept {
  return S_ISREG(mode) || S_ISBLK(mode) || (S_ISCHR(mode) && ::lseek(fd, 0, SEEK_CUR) >= 0);
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

/// The kernel moves at most 2 GiB less a page in one call: longer transfers are short.
std::int64_t move_once(Direction direction, int fd, Parts memory, std::int64_t offset) {
  const auto count = static_cast<int>(std::min(memory.size(), most_parts));
  return result(direction == Direction::read ? ::preadv(fd, memory.data(), count, offset)
                                             : ::pwritev(fd, memory.data(), count, offset));
}

void throw_open_error(const std::string& path, OpenFlag flag, int number) {
  throw Error("cannot open '" + path + "' for " + (flag == OpenFlag::read ? "reading" : "writing") +
                  ": " + std::strerror(number) + " (errno " + std::to_string(number) + ")" +
                  (path.empty() ? "; the path is empty" : advice(number, flag)),
              path, -1, number);
}

std::shared_ptr<Descriptor> open_descriptor(const std::string& path, OpenFlag flag) {
  const int fd = uninterrupted([&] { return ::open(path.c_str(), open_flags(flag), 0666); });
  if (fd < 0) throw_open_error(path, flag, errno);
  auto file = std::make_shared<Descriptor>(fd);
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw_open_error(path, flag, errno);
  // open() itself refuses a folder only for writing.
  if (S_ISDIR(status.st_mode)) throw_open_error(path, flag, EISDIR);
  if (!is_seekable_file(fd, status.st_mode))
    throw Error("cannot open '" + path + "': it is " + kind_of_file(status.st_mode) +
                    ", and arrays need a file that can be accessed at any offset (errno " +
                    std::to_string(ESPIPE) + ")",
                path, -1, ESPIPE);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return file;
}

std::unique_ptr<Storage> make_posix_storage(std::shared_ptr<Descriptor> file, std::string path) {
  return std::make_unique<PosixStorage>(std::move(file), std::move(path));
}

std::unique_ptr<Storage> open_posix(const FileName& name, OpenFlag flag) {
  return make_posix_storage(open_descriptor(name.path, flag), name.shown);
}

/// Some file systems cannot sync a folder, and return EINVAL.
void sync_path(const std::string& path) {
  const Descriptor file(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }));
  if (file.number() < 0 && errno == ENOENT) return;
  if (file.number() >= 0 &&
      (uninterrupted([&] { return ::fsync(file.number()); }) == 0 || errno == EINVAL))
    return;
  throw_errno("syncing", path, -errno);
}

}  // namespace penstock
