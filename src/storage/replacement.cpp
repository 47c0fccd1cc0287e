#include "storage/replacement.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <string_view>

#include <penstock/error.hpp>

#include "base/failure.hpp"
#include "storage/facts.hpp"
#include "storage/posix.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;             // as many as the kernel follows
constexpr int most_names = 100;            // attempts
constexpr std::size_t longest_name = 200;  // leaves room for the rest of the new name
constexpr std::string_view mark = ".penstock-";
constexpr std::size_t boot_letters = 12, device_letters = 8, random_letters = 12;
constexpr std::size_t letters_behind = boot_letters + device_letters + random_letters;
constexpr mode_t permissions = 07777, permissions_of_data = 0666;

std::string folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

std::string prefix_of(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  return "." + name.substr(0, longest_name) + std::string(mark);
}

std::string random_text(std::size_t size) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz012345";
  std::string text(size, '\0');
  if (::getrandom(text.data(), size, 0) != static_cast<ssize_t>(size)) return {};
  for (char& byte : text) byte = letters[static_cast<unsigned char>(byte) % letters.size()];
  return text;
}

/// Identifies the current boot of the machine; empty if the system does not show it.
const std::string& this_boot() {
  static const std::string boot = [] {
    std::string text;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
    std::erase(text, '-');
    return text.size() < boot_letters ? std::string() : text.substr(0, boot_letters);
  }();
  return boot;
}

/// Where locks on files of this device are visible, encoded for a file name.
std::string place_of(dev_t device) {
  char text[device_letters + 1];
  std::snprintf(text, sizeof text, "%03x%05x", major(device) & 0xfffU, minor(device) & 0xfffffU);
  return (this_boot().empty() ? random_text(boot_letters) : this_boot()) + text;
}

enum class Held { here, elsewhere, unknown };

/// `unknown`: the file system has no locks.
Held hold(int fd) noexcept {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = std::numeric_limits<off_t>::max() - 1;  // beyond any array
  lock.l_len = 1;
  if (uninterrupted([&] { return ::fcntl(fd, F_OFD_SETLK, &lock); }) == 0) return Held::here;
  return errno == EAGAIN || errno == EACCES ? Held::elsewhere : Held::unknown;
}

/// For a name in a folder. `prefix`: the replacements to look for; empty: any.
bool is_name_of_new(std::string_view name, std::string_view prefix) {
  constexpr std::size_t behind = mark.size() + letters_behind;
  if (name.size() < behind + 2 || name.front() != '.') return false;
  if (!name.substr(name.size() - behind).starts_with(mark)) return false;
  return prefix.empty() || name.substr(0, name.size() - letters_behind) == prefix;
}

/// Whether its writer's lock would be visible here, or its writer cannot have survived.
bool lock_is_conclusive(std::string_view name, dev_t device, bool of_one_machine) {
  const std::string here = place_of(device);
  const std::string_view there = name.substr(name.size() - letters_behind, here.size());
  if (this_boot().empty()) return false;
  return there == here || (of_one_machine && !there.starts_with(this_boot()));
}

/// Whether nobody writes it and it still has its name: it may just have been renamed.
bool is_left_over(const std::string& path, int fd, const struct stat& status) {
  struct stat named {};
  return hold(fd) == Held::here && ::lstat(path.c_str(), &named) == 0 &&
         named.st_dev == status.st_dev && named.st_ino == status.st_ino;
}

/// A rank may still have written into it when rank 0 had given up: the file that has its lock is
/// made before it, and removed after it.
bool is_abandoned_folder(const std::string& path, std::string_view name, std::string_view prefix) {
  const std::string_view suffix = folder_of_replacement;
  struct stat status {};
  return name.ends_with(suffix) &&
         is_name_of_new(name.substr(0, name.size() - suffix.size()), prefix) &&
         ::lstat(path.substr(0, path.size() - suffix.size()).c_str(), &status) != 0 &&
         errno == ENOENT;
}

void remove_all(const std::string& folder, std::string_view prefix, const Forget& forget) {
  struct stat place {};
  if (::stat(folder.c_str(), &place) != 0) return;
  std::error_code error, ignored;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string(), name = entry->path().filename().string();
    if (is_abandoned_folder(path, name, prefix)) fs::remove_all(path, ignored);
    if (!is_name_of_new(name, prefix)) continue;
    const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    if (file.number() < 0 || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode))
      continue;
    const bool shared = is_shared_by_hosts(find_file_system_type(file.number()));
    if (!lock_is_conclusive(name, place.st_dev, !shared)) continue;
    if (!is_left_over(path, file.number(), status)) continue;
    if (forget) forget(status.st_ino);
    fs::remove_all(path + folder_of_replacement, ignored);
    ::unlink(path.c_str());
  }
}

}  // namespace

Replacement::Replacement(std::string target, const ReplacementOptions& options)
    : target_(std::move(target)), folder_(folder_of(target_)), process_(::getpid()) {
  find_place(options.makes_folders);
  look_at_model(options.like.empty() ? target_ : options.like, options.like.empty());
  make();
  try {
    if (model_) take_over_permissions();
  } catch (...) {
    ::unlink(path_.c_str());
    throw;
  }
}

Replacement::~Replacement() {
  if (file_ && ::getpid() == process_) ::unlink(path_.c_str());
}

/// Determines the beginning of its name.
void Replacement::find_place(bool makes_folders) {
  struct stat status {};
  int code = ::stat(folder_.c_str(), &status);
  if (code != 0 && errno == ENOENT && makes_folders) {
    std::error_code error;
    fs::create_directories(folder_, error);
    code = ::stat(folder_.c_str(), &status);
    if (error) errno = error.value();
  }
  if (code != 0) throw_open_error(target_, OpenFlag::replace, errno);
  prefix_ = prefix_of(target_) + place_of(status.st_dev);
}

/// Only a regular file's permissions suit a regular file. From a file other than the target, only
/// read and write permissions are taken over.
void Replacement::look_at_model(const std::string& path, bool is_target) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  status.st_mode &= is_target ? permissions : permissions_of_data;
  model_ = status;
}

/// Until it is locked, another process may take the file for a leftover and remove it: then make
/// another.
void Replacement::make() {
  for (int names = 0; names < most_names; ++names) {
    const std::string letters = random_text(random_letters);
    if (letters.empty()) break;
    path_ = folder_ + "/" + prefix_ + letters;
    const int fd = uninterrupted([&] {
      return ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                    model_ ? 0600 : 0666);
    });
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) break;
    file_ = std::make_shared<Descriptor>(fd);
    if (is_held()) return;
    file_.reset();
    errno = EEXIST;
  }
  throw_open_error(target_, OpenFlag::replace, errno);
}

/// Locked by this process, and not removed before it was.
bool Replacement::is_held() {
  const int fd = file_->number();
  return hold(fd) != Held::elsewhere && ::fstat(fd, &made_) == 0 && made_.st_nlink > 0;
}

/// Only the superuser may give files away: otherwise the new file belongs to this process's user.
/// The mode is set last, since a change of the owner may clear bits of it.
void Replacement::take_over_permissions() {
  const int fd = file_->number();
  const bool same_owner = made_.st_uid == model_->st_uid && made_.st_gid == model_->st_gid;
  if (!same_owner && ::fchown(fd, model_->st_uid, model_->st_gid) != 0)
    static_cast<void>(::fchown(fd, static_cast<uid_t>(-1), model_->st_gid));
  const bool same_mode = (made_.st_mode & permissions) == model_->st_mode;
  if (!same_mode && ::fchmod(fd, model_->st_mode) != 0)
    fail("setting the permissions of a new file for", errno);
}

void Replacement::write(std::span<const std::byte> content) {
  const Transfer done = write_fully(*make_posix_storage(file_, path_), content, 0);
  if (done.error != 0) fail("writing", done.error);
}

void Replacement::sync() {
  if (uninterrupted([&] { return ::fsync(file_->number()); }) != 0) fail("syncing", errno);
}

/// Some file systems report a failed write only when a file is closed; closing a duplicate keeps
/// the lock.
void Replacement::commit_as(const std::string& name) {
  const int copy = ::fcntl(file_->number(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || ::close(copy) != 0) fail("writing", errno);
  if (::rename(path_.c_str(), name.c_str()) != 0) fail("replacing", errno);
  file_.reset();
}

/// Some file systems cannot sync a folder, and return EINVAL.
void Replacement::sync_folder() const {
  const Descriptor held(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (held.number() >= 0 && (::fsync(held.number()) == 0 || errno == EINVAL)) return;
  const int number = errno;
  throw Error("'" + target_ +
                  "' is in place, but syncing its folder failed: " + text_of_errno(number) +
                  "; a crash of the machine may bring back the file that it replaced",
              target_, -1, number);
}

void Replacement::fail(const std::string& what, int number) const {
  throw Error(what + " '" + target_ + "': " + text_of_errno(number) + "; it is left as it was",
              target_, -1, number);
}

void replace_file(const std::string& path, std::span<const std::byte> content,
                  const ReplacementOptions& options) {
  Replacement file(path, options);
  file.write(content);
  if (options.synced) file.sync();
  file.commit();
}

std::string behind_links(const std::string& path) {
  fs::path target = path;
  std::error_code error;
  for (int i = 0; i < most_links && fs::is_symlink(target, error); ++i) {
    const fs::path next = fs::read_symlink(target, error);
    if (error) break;
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return target.string();
}

std::string find_replaceable(const std::string& path) {
  const fs::path target = behind_links(path);
  struct stat status {};
  if (::stat(target.c_str(), &status) != 0) {
    if (errno != ENOENT) throw_open_error(target.string(), OpenFlag::replace, errno);
    return target.string();
  }
  const auto file = open_descriptor(target.string(), OpenFlag::read_write);
  if (::fstat(file->number(), &status) != 0)
    throw_open_error(target.string(), OpenFlag::replace, errno);
  if (!S_ISREG(status.st_mode))
    throw Error(
        "'" + target.string() + "' is a device, which no file can replace; open it without replace",
        target.string(), -1, EINVAL);
  return target.string();
}

void remove_leftovers(const std::string& target, const Forget& forget) {
  remove_all(folder_of(target), prefix_of(target), forget);
}

void remove_leftovers_in(const std::string& folder) {
  remove_all(folder, {}, {});
}

}  // namespace penstock
