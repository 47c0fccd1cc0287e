#include "storage/client_caches.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>

#include "storage/posix.hpp"

namespace penstock {

bool caches_agree(std::string_view type) {
  constexpr std::array<std::string_view, 8> own{"nfs", "fuse",     "cifs", "smb2",
                                                "smb", "orangefs", "afs",  "9p"};
  return !type.starts_with("0x") && type != "unknown" && std::ranges::find(own, type) == own.end();
}

std::string find_page_cache(const std::string& path) {
  std::string kernel;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> kernel;
  struct stat status {};
  if (kernel.empty() || ::stat(path.c_str(), &status) != 0) return {};
  return kernel + " " + std::to_string(status.st_dev);
}

std::int64_t server_size(int fd) {
  struct statx status {};
  constexpr int flags = AT_EMPTY_PATH | AT_STATX_FORCE_SYNC;
  const int code = uninterrupted([&] { return ::statx(fd, "", flags, STATX_SIZE, &status); });
  return code < 0 ? -errno : static_cast<std::int64_t>(status.stx_size);
}

/// To open a file is when clients compare what they have cached with what the server has, and wait
/// for what they are reading ahead. Some are told to keep it all the same.
void forget_cached(int fd) {
  const std::string same = "/proc/self/fd/" + std::to_string(fd);
  const int again = uninterrupted([&] { return ::open(same.c_str(), O_RDONLY | O_CLOEXEC); });
  if (again >= 0) ::close(again);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  static_cast<void>(server_size(fd));
}

/// A link to a folder is never made. Before it says so, the kernel has to know whether the name is
/// free.
void look_anew(const std::string& path) noexcept {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  static_cast<void>(::link(folder.c_str(), path.c_str()));
}

bool is_locked(const std::string& path, std::int64_t offset) {
  const Descriptor file(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = offset;
  lock.l_len = 1;
  return ::fcntl(file.number(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

namespace {

/// User-space clients keep files up to this size whole, for a second from when they are looked up.
constexpr std::int64_t kept_whole = std::int64_t{1} << 20;

class PastCache : public Storage {
 public:
  PastCache(std::unique_ptr<Storage> inner, bool past, bool early)
      : inner_(std::move(inner)), past_(past), early_(early) {}

  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override {
    if (past_ && offset >= 0) {
      if (direction == Direction::read) forget_whole();
      const std::int64_t moved = inner_->move_some(direction, memory, offset);
      if (moved == 0 && direction == Direction::read) return read_at_end(memory, offset);
      if (moved > 0 && direction == Direction::write) arrive();
      if (moved != -EINVAL) return moved;
      // The server asks for an alignment.
      inner_->bypass_cache(false);
      past_ = false;
    }
    return through_cache(direction, memory, offset);
  }
  bool completes_later() const override { return inner_->completes_later(); }
  void submit(std::span<IoRequest> requests) override {
    if (!past_) return Storage::submit(requests);
    const auto reads = [](const IoRequest& each) { return each.direction == Direction::read; };
    if (std::ranges::any_of(requests, reads)) forget_whole();
    inner_->submit(requests);
  }
  bool poll(IoRequest& request) override {
    if (!inner_->poll(request)) return false;
    settle(request);
    return true;
  }
  void wait(IoRequest& request) override {
    inner_->wait(request);
    settle(request);
  }
  std::int64_t drop(Extent range) override { return inner_->drop(range); }
  bool bypass_cache(bool past) override { return inner_->bypass_cache(past); }
  void forget_cached() override { inner_->forget_cached(); }
  std::int64_t size() override { return inner_->size(); }
  std::int64_t resize(std::int64_t bytes) override { return inner_->resize(bytes); }
  std::int64_t allocate(std::int64_t bytes) override { return inner_->allocate(bytes); }
  std::int64_t sync() override { return inner_->sync(); }
  std::unique_ptr<RangeLock> lock(Extent range, LockKind kind, int& error) override {
    return inner_->lock(range, kind, error);
  }
  const std::string& path() const override { return inner_->path(); }

 private:
  /// The file may have grown on another host: this one finds out when it asks.
  std::int64_t read_at_end(Parts memory, std::int64_t offset) {
    if (size_of(memory) == 0 || inner_->size() <= offset) return 0;
    return inner_->move_some(Direction::read, memory, offset);
  }
  /// Clients send what they have answered early before they answer what size the file has.
  void arrive() {
    if (early_) is_small_ = inner_->size() <= kept_whole;
  }
  void forget_whole() {
    if (early_ && is_small_) inner_->forget_cached();
  }
  /// What is left of a page that is written in part is read first.
  std::int64_t through_cache(Direction direction, Parts memory, std::int64_t offset) {
    inner_->forget_cached();
    const std::int64_t moved = inner_->move_some(direction, memory, offset);
    if (moved <= 0 || direction == Direction::read) return moved;
    const std::int64_t code = inner_->sync();
    return code < 0 ? code : moved;
  }
  void settle(IoRequest& request) {
    const bool at_end = request.result == 0 && request.direction == Direction::read;
    if (past_ && (at_end || request.result == -EINVAL))
      request.result = move_some(request.direction, request.memory, request.offset);
    else if (past_ && request.result > 0 && request.direction == Direction::write) arrive();
  }

  const std::unique_ptr<Storage> inner_;
  std::atomic<bool> past_;
  const bool early_;
  std::atomic<bool> is_small_ = inner_->size() <= kept_whole;
};

}  // namespace

std::unique_ptr<Storage> go_past_cache(std::unique_ptr<Storage> inner, bool early, bool& exact) {
  exact = inner->bypass_cache(true);
  return std::make_unique<PastCache>(std::move(inner), exact, early);
}

}  // namespace penstock
