// Direct I/O: past the page cache, between the caller's memory and the device.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "storage/blocks.hpp"
#include "storage/facts.hpp"

namespace penstock {
namespace {

/// Larger values of st_blksize are stripe or network packet sizes and not taken for the block: a
/// smaller write does not make the system rewrite that much.
constexpr std::int64_t largest_block = 64 << 10;

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// Null if the file system refuses. Throws for errors of this process (descriptors).
std::shared_ptr<Descriptor> open_past_page_cache(const std::string& path, OpenFlag flag,
                                                 const struct stat& expected) {
  const int access = flag == OpenFlag::read ? O_RDONLY : O_RDWR;
  const int fd = uninterrupted(
      [&] { return ::open(path.c_str(), access | O_DIRECT | O_NONBLOCK | O_CLOEXEC); });
  if (fd < 0 && (errno == EMFILE || errno == ENFILE)) throw_open_error(path, flag, errno);
  if (fd < 0) return nullptr;
  auto file = std::make_shared<Descriptor>(fd);
  struct stat found {};
  // Another file may have been put in its place since the first opening.
  if (::fstat(fd, &found) != 0 || !same_file(found, expected)) return nullptr;
  return file;
}

/// At least what the page cache rewrites as a whole: otherwise one rank's partial block, written
/// back from the page cache, could overwrite another's direct write with old bytes.
std::int64_t block_for(std::int64_t offset_alignment, std::int64_t preferred) {
  std::int64_t block = std::max<std::int64_t>(offset_alignment, ::sysconf(_SC_PAGESIZE));
  if (preferred <= largest_block && preferred % block == 0) block = preferred;
  return block;
}

}  // namespace

void add_notice(std::string* notice, const std::string& text) {
  if (notice == nullptr) return;
  if (!notice->empty()) *notice += "; ";
  *notice += text;
}

BlockFile open_block_file(const FileName& name, OpenFlag flag, std::string* notice) {
  BlockFile file;
  file.buffered = open_descriptor(name.path, flag);
  struct stat status {};
  if (::fstat(file.buffered->number(), &status) == 0)
    file.direct = open_past_page_cache(name.path, flag, status);
  const DirectAlignment alignment =
      file.direct ? find_direct_alignment(file.direct->number()) : DirectAlignment{};
  if (alignment.offset > 0) {
    file.memory_alignment = alignment.memory;
    file.block = block_for(alignment.offset, status.st_blksize);
    return file;
  }
  file.direct.reset();
  add_notice(notice, "direct I/O does not work on '" + name.shown + "' (" +
                         find_file_system_type(file.buffered->number()) +
                         "): using the page cache");
  return file;
}

std::unique_ptr<Storage> open_direct(const FileName& name, OpenFlag flag, std::string* notice) {
  BlockFile file = open_block_file(name, flag, notice);
  if (!file.direct) return make_posix_storage(std::move(file.buffered), name.shown);
  return std::make_unique<BlockStorage>(std::move(file), name.shown);
}

}  // namespace penstock
