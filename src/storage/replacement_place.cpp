#include <penstock/replacement_place.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>

#include <penstock/error.hpp>

#include "base/failure.hpp"
#include "storage/replacement.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr mode_t mode_bits = 07777;

/// Two names in one step. Returns an errno.
int exchange_names(const std::string& one, const std::string& other) noexcept {
  constexpr unsigned exchanging = 1U << 1;  // RENAME_EXCHANGE, which not all C libraries have
  const long code =
      ::syscall(SYS_renameat2, AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), exchanging);
  return code == 0 ? 0 : errno;
}

std::optional<struct stat> found_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return status;
  return std::nullopt;
}

}  // namespace

class ReplacementPlace::Impl {
 public:
  Impl() = default;
  Impl(const Impl&) = delete;
  virtual ~Impl() = default;
  virtual const std::string& path() const noexcept = 0;
  virtual void commit() = 0;
};

class ReplacementPlace::File final : public Impl {
 public:
  explicit File(const std::string& target) : new_(target) {}
  const std::string& path() const noexcept override { return new_.path(); }
  void commit() override {
    new_.sync();
    new_.commit();
    new_.sync_folder();
  }

 private:
  Replacement new_;
};

/// The lock of a file beside it says that it is being written.
class ReplacementPlace::Folder final : public Impl {
 public:
  explicit Folder(std::string target)
      : target_(std::move(target)), lock_(target_), path_(lock_.path() + folder_of_replacement) {
    try {
      make();
    } catch (...) {
      remove();
      throw;
    }
  }
  ~Folder() override {
    if (::getpid() == process_) remove();  // a forked child removes nothing
  }
  const std::string& path() const noexcept override { return path_; }

  void commit() override {
    int number = 0;
    if (found_at(target_)) number = exchange_names(path_, target_);
    else if (::rename(path_.c_str(), target_.c_str()) != 0) number = errno;
    if (number != 0) throw_errno("replacing", target_, -number);
    lock_.sync_folder();
    if (!remove())
      throw Error("'" + target_ +
                      "' is in place, but the folder that it replaced cannot be removed "
                      "as a whole: it is '" +
                      path_ + "'",
                  target_, -1, EACCES);
  }

 private:
  /// As the old one, as far as the system allows.
  void make() {
    if (::mkdir(path_.c_str(), 0777) != 0) throw_errno("making a new folder for", target_, -errno);
    const std::optional<struct stat> old = found_at(target_);
    if (!old) return;
    check_exchange();
    static_cast<void>(::chown(path_.c_str(), old->st_uid, old->st_gid));
    if (::chmod(path_.c_str(), old->st_mode & mode_bits) != 0)
      throw_errno("setting the permissions of a new folder for", target_, -errno);
  }

  /// With the folder itself and an empty one.
  void check_exchange() const {
    const std::string other = path_ + "-2";
    if (::mkdir(other.c_str(), 0700) != 0) throw_errno("making a new folder for", target_, -errno);
    const int number = exchange_names(path_, other);
    ::rmdir(other.c_str());
    if (number != 0)
      throw Error("'" + target_ +
                      "' cannot be replaced in one step, since its file system does not exchange "
                      "two folders (renameat2): " +
                      text_of_errno(number) +
                      "; write to another name, without replace, and rename the folder",
                  target_, -1, number);
  }

  bool remove() noexcept {
    std::error_code error;
    fs::remove_all(path_, error);
    return !error;
  }

  std::string target_;
  Replacement lock_;
  std::string path_;
  int process_ = ::getpid();
};

ReplacementPlace::ReplacementPlace(const fs::path& path, Kind kind) {
  if (kind == Kind::file) {
    const std::string target = find_replaceable(path.string());
    remove_leftovers(target);
    impl_ = std::make_unique<File>(target);
  } else {
    const std::string target = behind_links(path.string());
    remove_leftovers(target);
    impl_ = std::make_unique<Folder>(target);
  }
}

ReplacementPlace::~ReplacementPlace() = default;

const std::string& ReplacementPlace::path() const noexcept {
  return impl_->path();
}

void ReplacementPlace::commit() {
  impl_->commit();
}

}  // namespace penstock
