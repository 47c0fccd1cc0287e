#include "formats/zarr/chunk_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <penstock/error.hpp>

#include "base/failure.hpp"

namespace penstock {
namespace {

template <class Call>
auto uninterrupted(Call&& call) {
  auto code = call();
  while (code < 0 && errno == EINTR) code = call();
  return code;
}

/// Closed at the end of its scope.
class OpenFileNumber {
 public:
  explicit OpenFileNumber(int fd) : fd_(fd) {}
  OpenFileNumber(const OpenFileNumber&) = delete;
  ~OpenFileNumber() {
    if (fd_ >= 0) ::close(fd_);
  }
  int number() const noexcept { return fd_; }
  /// Some file systems say only here that a write went wrong.
  int close() noexcept { return ::close(std::exchange(fd_, -1)) < 0 ? errno : 0; }

 private:
  int fd_;
};

int open_for_writing(const std::string& path) {
  const auto open = [&] {
    return uninterrupted(
        [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666); });
  };
  const int fd = open();
  if (fd >= 0 || errno != ENOENT) return fd;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (!error) return open();
  errno = error.value();
  return -1;
}

/// An errno, or 0.
int write_all(int fd, std::span<const std::byte> content) {
  while (!content.empty()) {
    const ssize_t moved =
        uninterrupted([&] { return ::write(fd, content.data(), content.size()); });
    if (moved < 0) return errno;
    if (moved == 0) return EIO;
    content = content.subspan(static_cast<std::size_t>(moved));
  }
  return 0;
}

}  // namespace

ChunkFile::ChunkFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

ChunkFile::~ChunkFile() {
  ::close(fd_);
}

std::shared_ptr<ChunkFile> ChunkFile::open(const std::string& path) {
  const int fd = uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (fd < 0 && errno == ENOENT) return nullptr;
  if (fd < 0) throw_errno("opening the chunk", path, -errno);
  std::shared_ptr<ChunkFile> file(new ChunkFile(fd, path));
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw_errno("looking at the chunk", path, -errno);
  file->size_ = status.st_size;
  file->identity_ = {status.st_dev, status.st_ino};
  return file;
}

void ChunkFile::read(std::span<std::byte> into, std::int64_t offset) const {
  while (!into.empty()) {
    const ssize_t moved =
        uninterrupted([&] { return ::pread(fd_, into.data(), into.size(), offset); });
    if (moved < 0) throw_errno("reading the chunk", path_, -errno);
    if (moved == 0)
      throw Error(ErrorClass::format, "chunk '" + path_ + "' was cut short while it was read");
    into = into.subspan(static_cast<std::size_t>(moved));
    offset += moved;
  }
}

Bytes ChunkFile::read_all() const {
  Bytes bytes(static_cast<std::size_t>(size_));
  read(bytes, 0);
  return bytes;
}

void replace_file(const std::string& path, std::span<const std::byte> content) {
  const std::string temporary = path + ".partial";
  OpenFileNumber file(open_for_writing(temporary));
  if (file.number() < 0) throw_errno("making", temporary, -errno);
  int error = write_all(file.number(), content);
  const int closed = file.close();
  if (error == 0) error = closed;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(temporary.c_str());
  throw_errno("writing", path, -error);
}

void remove_chunk_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR)
    throw_errno("removing the chunk", path, -errno);
}

void sync_path(const std::string& path) {
  const OpenFileNumber file(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (file.number() < 0 && errno == ENOENT) return;
  if (file.number() < 0 || uninterrupted([&] { return ::fsync(file.number()); }) != 0)
    throw_errno("syncing", path, -errno);
}

void sync_file_system_of(const std::string& path) {
  const OpenFileNumber file(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (file.number() < 0 || uninterrupted([&] { return ::syncfs(file.number()); }) != 0)
    throw_errno("syncing", path, -errno);
}

}  // namespace penstock
