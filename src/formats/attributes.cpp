#include "formats/attributes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "file/byte_file.hpp"

namespace penstock {
namespace {

std::string record_of(const std::string& path) {
  return path + ".attrs.json";
}

std::string record_of(const std::string& path, std::uint64_t inode) {
  return record_of(path) + "." + std::to_string(inode);
}

bool is_there(const std::string& name) {
  struct stat status {};
  return ::stat(name.c_str(), &status) == 0;
}

/// The name of what was prepared for the file as it is; empty where nothing was.
std::string prepared_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  std::string name = record_of(path, status.st_ino);
  return is_there(name) ? name : std::string();
}

void remove(const std::string& name) {
  if (::unlink(name.c_str()) != 0 && errno != ENOENT) throw_errno("removing", name, -errno);
}

/// A new record, which has the permissions of its file; removed unless it is kept.
class Draft {
 public:
  /// Under a name that no other has, beside the record of `path`.
  explicit Draft(const std::string& path) : name_(record_of(path) + ".XXXXXX") {
    descriptor_ = ::mkstemp(name_.data());
    begin(path);
  }
  Draft(std::string name, const std::string& path) : name_(std::move(name)) {
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
    descriptor_ = ::open(name_.c_str(), flags, 0600);
    begin(path);
  }
  Draft(const Draft&) = delete;
  ~Draft() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!kept_) ::unlink(name_.c_str());
  }
  void write(const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t got = ::write(descriptor_, text.data() + done, text.size() - done);
      if (got < 0 && errno != EINTR) throw_errno("writing", name_, -errno);
      if (got > 0) done += static_cast<std::size_t>(got);
    }
    if (::fsync(descriptor_) != 0) throw_errno("syncing", name_, -errno);
  }
  void keep() noexcept { kept_ = true; }
  void keep_as(const std::string& name) {
    if (::rename(name_.c_str(), name.c_str()) != 0) throw_errno("replacing", name, -errno);
    keep();
  }

 private:
  void begin(const std::string& path) {
    if (descriptor_ < 0) throw_errno("making a new record of attributes for", path, -errno);
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0)
      static_cast<void>(::fchmod(descriptor_, status.st_mode & 0666));
  }

  std::string name_;
  int descriptor_ = -1;
  bool kept_ = false;
};

}  // namespace

std::string read_attributes(const std::string& path) {
  const std::string prepared = prepared_of(path);
  const std::string name = prepared.empty() ? record_of(path) : prepared;
  std::FILE* const file = std::fopen(name.c_str(), "rb");
  if (file == nullptr && errno == ENOENT) return {};
  if (file == nullptr) throw_errno("reading", name, -errno);
  std::string text;
  char part[4096];
  std::size_t got = sizeof part;
  while (got == sizeof part) {  // less: the end, or an error
    got = std::fread(part, 1, sizeof part, file);
    text.append(part, got);
  }
  const int failed = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  if (failed != 0) throw_errno("reading", name, -failed);
  return text;
}

void replace_attributes(const std::string& path, const std::string& text) {
  settle_attributes(path);
  Draft draft(path);
  draft.write(text);
  draft.keep_as(record_of(path));
}

void remove_attributes(const std::string& path) {
  settle_attributes(path);
  remove(record_of(path));
}

void prepare_attributes(const std::string& path, const std::string& new_path,
                        const std::string& text) {
  settle_attributes(path);
  if (text.empty() && !is_there(record_of(path))) return;
  struct stat status {};
  if (::stat(new_path.c_str(), &status) != 0) throw_errno("looking at", new_path, -errno);
  Draft draft(record_of(path, status.st_ino), new_path);
  draft.write(text);
  draft.keep();
}

void settle_attributes(const std::string& path) {
  const std::string prepared = prepared_of(path);
  if (prepared.empty()) return;
  struct stat status {};
  if (::stat(prepared.c_str(), &status) != 0) throw_errno("looking at", prepared, -errno);
  if (status.st_size > 0) {
    if (::rename(prepared.c_str(), record_of(path).c_str()) != 0)
      throw_errno("replacing", record_of(path), -errno);
    return;
  }
  remove(record_of(path));
  remove(prepared);
}

void forget_attributes(const std::string& path, std::uint64_t inode) noexcept {
  ::unlink(record_of(path, inode).c_str());
}

}  // namespace penstock
