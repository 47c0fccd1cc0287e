#include "storage/replacement.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string_view>

#include <penstock/error.hpp>

#include "base/failure.hpp"
#include "storage/posix.hpp"

namespace penstock {

struct Replacement::NewFile : Descriptor {
  using Descriptor::Descriptor;
};

namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;             // as the kernel follows
constexpr int most_names = 100;            // that are tried
constexpr std::size_t longest_name = 200;  // so that the longer name is not too long, either
constexpr std::string_view mark = ".penstock-";
constexpr std::size_t random_letters = 6;
constexpr mode_t permissions = 07777;

[[noreturn]] void fail(const std::string& what, const std::string& target) {
  const int number = errno;
  throw Error(what + ": " + text_of_errno(number) + "; " + left_as_it_was(target), target, -1,
              number);
}

/// Where symbolic links lead, also to a file that there is not yet.
std::string followed(fs::path path) {
  std::error_code error;
  for (int i = 0; i < most_links && fs::is_symlink(path, error); ++i) {
    const fs::path next = fs::read_symlink(path, error);
    if (error) break;
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path.string();
}

std::string random_text() {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz012345";
  unsigned char bytes[random_letters] = {};
  static_cast<void>(::getrandom(bytes, sizeof bytes, 0));  // a name that is taken is tried again
  std::string text;
  for (const unsigned char byte : bytes) text += letters[byte % letters.size()];
  return text;
}

enum class Held { here, elsewhere, unknown };

/// Unknown: the file system has no locks.
Held hold(int fd) noexcept {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = std::numeric_limits<off_t>::max() - 1;  // no array goes so far
  lock.l_len = 1;
  if (uninterrupted([&] { return ::fcntl(fd, F_OFD_SETLK, &lock); }) == 0) return Held::here;
  return errno == EAGAIN || errno == EACCES ? Held::elsewhere : Held::unknown;
}

bool has_name(int fd) noexcept {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && status.st_nlink > 0;
}

}  // namespace

std::string left_as_it_was(const std::string& path) {
  return "'" + path + "' is left as it was before it was opened";
}

Replacement::Replacement(const std::string& target, const Forget& forget)
    : target_(followed(target)), process_(::getpid()) {
  const fs::path path(target_);
  folder_ = path.has_parent_path() ? path.parent_path().string() : ".";
  prefix_ = "." + path.filename().string().substr(0, longest_name) + std::string(mark);
  look_at_old();
  remove_leftovers(forget);
  make();
  try {
    if (old_) take_over_permissions();
  } catch (...) {
    ::unlink(path_.c_str());
    throw;
  }
}

Replacement::~Replacement() {
  if (file_ && ::getpid() == process_) ::unlink(path_.c_str());
}

/// What could not be written in place is not replaced, either: a folder, a protected file.
void Replacement::look_at_old() {
  struct stat status {};
  if (::stat(target_.c_str(), &status) != 0) {
    if (errno != ENOENT) throw_open_error(target_, OpenFlag::replace, errno);
    return;
  }
  const auto file = open_descriptor(target_, OpenFlag::read_write);
  if (::fstat(file->number(), &status) != 0) throw_open_error(target_, OpenFlag::replace, errno);
  if (!S_ISREG(status.st_mode))
    throw Error("'" + target_ + "' is a device, which no file can replace; open it without replace",
                target_, -1, EINVAL);
  old_ = status;
}

/// Another process that removes leftovers may take the file for one until it is locked: then there
/// is another. Without locks on the file system leftovers stay.
void Replacement::make() {
  const mode_t mode = old_ ? 0600 : 0666;
  for (int names = 0; names < most_names; ++names) {
    path_ = folder_ + "/" + prefix_ + random_text();
    const int fd = uninterrupted([&] {
      return ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    });
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) throw_open_error(target_, OpenFlag::replace, errno);
    auto file = std::make_unique<NewFile>(fd);
    if (hold(fd) == Held::elsewhere || !has_name(fd)) continue;
    file_ = std::move(file);
    return;
  }
  throw_open_error(target_, OpenFlag::replace, EEXIST);
}

/// Only the superuser may give files away: elsewhere the new file is this process's own.
void Replacement::take_over_permissions() {
  const int fd = file_->number();
  if (::fchown(fd, old_->st_uid, old_->st_gid) != 0)
    static_cast<void>(::fchown(fd, static_cast<uid_t>(-1), old_->st_gid));
  if (::fchmod(fd, old_->st_mode & permissions) != 0)
    fail("setting the permissions of '" + path_ + "', which is to replace '" + target_ + "'",
         target_);
}

void Replacement::remove_leftovers(const Forget& forget) const noexcept {
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.size() != prefix_.size() + random_letters || !name.starts_with(prefix_)) continue;
    const int fd = ::open(entry->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) continue;
    const Descriptor file(fd);
    struct stat status {};
    if (hold(fd) != Held::here || ::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) continue;
    forget(status.st_ino);
    ::unlink(entry->path().c_str());
  }
}

std::uint64_t Replacement::inode() const {
  struct stat status {};
  if (::fstat(file_->number(), &status) != 0) fail("looking at '" + path_ + "'", target_);
  return status.st_ino;
}

void Replacement::commit() {
  if (::fsync(file_->number()) != 0) fail("syncing '" + path_ + "'", target_);
  if (::rename(path_.c_str(), target_.c_str()) != 0)
    fail("renaming '" + path_ + "' to '" + target_ + "'", target_);
  file_.reset();
}

/// Some file systems cannot sync a folder, and say EINVAL.
void Replacement::sync_folder() const {
  const Descriptor held(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (held.number() >= 0 && (::fsync(held.number()) == 0 || errno == EINVAL)) return;
  const int number = errno;
  throw Error("'" + target_ +
                  "' is in place, but syncing its folder failed: " + text_of_errno(number) +
                  "; a crash of the machine may bring back the file that it replaced",
              target_, -1, number);
}

}  // namespace penstock
