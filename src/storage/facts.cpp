#include "storage/facts.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <utility>

#include "base/buffer.hpp"
#include "storage/client_caches.hpp"
#include "storage/posix.hpp"

namespace penstock {
namespace {

constexpr std::int64_t usual_alignment = 4096;
/// With larger requirements direct I/O is not used: a Buffer begins at a page, and pieces of
/// requests are cut at multiples of 64 KiB.
constexpr std::int64_t largest_memory_alignment = 4096, largest_offset_alignment = 64 << 10;

/// From <linux/magic.h> and the file systems' own headers; no single header has all of them.
constexpr std::array<std::pair<std::uint32_t, const char*>, 28> types{{
    {0x0000ef53, "ext4"},     {0x58465342, "xfs"},    {0x9123683e, "btrfs"},
    {0x01021994, "tmpfs"},    {0x858458f6, "ramfs"},  {0x00006969, "nfs"},
    {0x0bd00bd0, "lustre"},   {0x47504653, "gpfs"},   {0x794c7630, "overlay"},
    {0x65735546, "fuse"},     {0xff534d42, "cifs"},   {0xfe534d42, "smb2"},
    {0x0000517b, "smb"},      {0x00c36400, "ceph"},   {0xf2f52010, "f2fs"},
    {0x2fc12fc1, "zfs"},      {0x19830326, "beegfs"}, {0x20030528, "orangefs"},
    {0x01161970, "gfs2"},     {0x7461636f, "ocfs2"},  {0x5346414f, "afs"},
    {0xca451a4e, "bcachefs"}, {0x01021997, "9p"},     {0x73717368, "squashfs"},
    {0xe0f5e1e2, "erofs"},    {0x3153464a, "jfs"},    {0x52654973, "reiserfs"},
    {0x00004d44, "vfat"},
}};

DirectAlignment usable(std::int64_t memory, std::int64_t offset) {
  const auto fits = [](std::int64_t value, std::int64_t most) {
    return value > 0 && value <= most && std::has_single_bit(static_cast<std::uint64_t>(value));
  };
  if (!fits(memory, largest_memory_alignment) || !fits(offset, largest_offset_alignment)) return {};
  return {memory, offset};
}

DirectAlignment try_direct_read(int fd) {
  Buffer block(usual_alignment, nullptr);
  const iovec part = part_of(block.first(block.size()));
  if (move_once(Direction::read, fd, {&part, 1}, 0) < 0) return {};
  return {usual_alignment, usual_alignment};
}

}  // namespace

std::string find_file_system_type(int fd) {
  struct statfs status {};
  if (uninterrupted([&] { return ::fstatfs(fd, &status); }) != 0) return "unknown";
  const auto number = static_cast<std::uint32_t>(status.f_type);
  const auto found =
      std::ranges::find(types, number, &std::pair<std::uint32_t, const char*>::first);
  if (found != types.end()) return found->second;
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", number);
  return text;
}

DirectAlignment find_direct_alignment(int fd) {
#ifdef STATX_DIOALIGN
  struct statx found {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &found) == 0 &&
      (found.stx_mask & STATX_DIOALIGN) != 0)
    return usable(found.stx_dio_mem_align, found.stx_dio_offset_align);
#endif
  // These accept O_DIRECT although all of their bytes are in the page cache: nothing would be
  // gained.
  const std::string type = find_file_system_type(fd);
  if (type == "tmpfs" || type == "ramfs") return {};
  return try_direct_read(fd);
}

bool is_shared_by_hosts(const std::string& type) {
  constexpr std::array<const char*, 6> coherent{"lustre", "gpfs", "ceph",
                                                "beegfs", "gfs2", "ocfs2"};
  return !caches_agree(type) || std::ranges::find(coherent, type) != coherent.end();
}

namespace {

/// Opens a file or a folder.
int open_to_look(const std::string& path) {
  const int fd =
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); });
  if (fd < 0) throw_open_error(path, OpenFlag::read, errno);
  return fd;
}

}  // namespace

std::string find_identity(const std::string& path) {
  const Descriptor file(open_to_look(path));
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) throw_open_error(path, OpenFlag::read, errno);
  std::string text = "inode " + std::to_string(status.st_ino);
  const std::string type = find_file_system_type(file.number());
  if (!is_shared_by_hosts(type))
    text += " of device " + std::to_string(major(status.st_dev)) + ":" +
            std::to_string(minor(status.st_dev));
  return text + " (" + type + ")";
}

FileSystemFacts find_facts(const std::string& path) {
  const Descriptor file(open_to_look(path));
  FileSystemFacts facts;
  facts.type = find_file_system_type(file.number());
  facts.caches_agree = caches_agree(facts.type);
  // If caches do not agree, this host may see an outdated size for a while.
  if (!facts.caches_agree) static_cast<void>(server_size(file.number()));
  struct stat status {};
  if (::fstat(file.number(), &status) == 0) facts.block_size = status.st_blksize;
  facts.stripe_size = find_stripe_size(file.number(), facts.type, facts.block_size);
  const int direct = uninterrupted(
      [&] { return ::open(path.c_str(), O_RDONLY | O_DIRECT | O_NONBLOCK | O_CLOEXEC); });
  if (direct < 0) return facts;
  const Descriptor owner(direct);
  facts.direct_alignment = find_direct_alignment(direct).offset;
  return facts;
}

}  // namespace penstock
