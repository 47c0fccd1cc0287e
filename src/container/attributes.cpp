#include "container/attributes.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "file/byte_file.hpp"

namespace penstock {
namespace {

std::string record_of(const std::string& path) {
  return path + ".attrs.json";
}

/// A new file beside `path`, which has its permissions; removed unless it is kept.
class Draft {
 public:
  explicit Draft(const std::string& path) : name_(record_of(path) + ".XXXXXX") {
    descriptor_ = ::mkstemp(name_.data());
    if (descriptor_ < 0) throw_errno("making a new record of attributes for", path, -errno);
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0)
      static_cast<void>(::fchmod(descriptor_, status.st_mode & 0666));
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
  void keep_as(const std::string& name) {
    if (::rename(name_.c_str(), name.c_str()) != 0) throw_errno("replacing", name, -errno);
    kept_ = true;
  }

 private:
  std::string name_;
  int descriptor_ = -1;
  bool kept_ = false;
};

}  // namespace

std::string read_attributes(const std::string& path) {
  const std::string name = record_of(path);
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
  Draft draft(path);
  draft.write(text);
  draft.keep_as(record_of(path));
}

void remove_attributes(const std::string& path) {
  const std::string name = record_of(path);
  if (::unlink(name.c_str()) != 0 && errno != ENOENT) throw_errno("removing", name, -errno);
}

}  // namespace penstock
