#include "formats/zarr/chunk_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <penstock/error.hpp>

#include "base/failure.hpp"
#include "storage/posix.hpp"
#include "storage/regular_file.hpp"

namespace penstock {

ChunkFile::ChunkFile(int fd, const std::string& path, std::int64_t size, const Identity& identity)
    : StoredChunk(path, size, identity), fd_(fd) {}

ChunkFile::~ChunkFile() {
  ::close(fd_);
}

std::shared_ptr<ChunkFile> ChunkFile::open(const std::string& path) {
  const int fd = open_regular(path);
  if (fd < 0) return nullptr;
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    const int number = errno;
    ::close(fd);
    throw_errno("looking at the chunk", path, -number);
  }
  // Another host may have made a file with the inode number of the previous one.
  const Identity identity{status.st_dev, status.st_ino,
                          static_cast<std::uint64_t>(status.st_mtim.tv_sec),
                          static_cast<std::uint64_t>(status.st_mtim.tv_nsec)};
  return std::shared_ptr<ChunkFile>(new ChunkFile(fd, path, status.st_size, identity));
}

void ChunkFile::read(std::span<std::byte> into, std::int64_t offset) const {
  while (!into.empty()) {
    const ssize_t moved =
        uninterrupted([&] { return ::pread(fd_, into.data(), into.size(), offset); });
    if (moved < 0) throw_errno("reading the chunk", name(), -errno);
    if (moved == 0)
      throw Error(ErrorClass::format, "chunk '" + name() + "' was cut short while it was read");
    into = into.subspan(static_cast<std::size_t>(moved));
    offset += moved;
  }
}

void remove_chunk_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR)
    throw_errno("removing the chunk", path, -errno);
}

void sync_file_system_of(const std::string& path) {
  const Descriptor file(uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (file.number() < 0 || uninterrupted([&] { return ::syncfs(file.number()); }) != 0)
    throw_errno("syncing", path, -errno);
}

}  // namespace penstock
