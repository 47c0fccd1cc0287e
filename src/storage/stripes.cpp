// Stripe sizes, from Lustre, XFS, or the block device.
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <array>
#include <fstream>

#include "storage/facts.hpp"

namespace penstock {
namespace {

/// As documented in ioctl_xfs_fsgeometry(2). Few machines have the headers of XFS.
struct XfsGeometry {
  std::uint32_t blocksize, rtextsize, agblocks, agcount, logblocks, sectsize, inodesize, imaxpct;
  std::uint64_t datablocks, rtblocks, rtextents, logstart;
  unsigned char uuid[16];
  std::uint32_t sunit, swidth;  // in blocks
  std::int32_t version;
  std::uint32_t flags, logsectsize, rtsectsize, dirblocksize;
};
static_assert(sizeof(XfsGeometry) == 112);
constexpr unsigned long xfs_geometry_request = _IOR('X', 100, XfsGeometry);

std::int64_t xfs_stripe_size(int fd) {
  XfsGeometry geometry{};
  if (::ioctl(fd, xfs_geometry_request, &geometry) != 0) return 0;
  return std::int64_t{geometry.sunit} * geometry.blocksize;
}

std::int64_t lustre_stripe_size_of(int fd) {
  std::array<std::byte, 65536> attribute;  // the maximum size of an attribute
  const ssize_t size = ::fgetxattr(fd, "lustre.lov", attribute.data(), attribute.size());
  if (size <= 0) return 0;
  return lustre_stripe_size(std::span(attribute).first(static_cast<std::size_t>(size)));
}

/// A partition's folder lies in that of its device, which has the queue's properties.
std::int64_t device_stripe_size(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return 0;
  const std::string device = "/sys/dev/block/" + std::to_string(major(status.st_dev)) + ":" +
                             std::to_string(minor(status.st_dev));
  for (const char* queue : {"/queue", "/../queue"}) {
    std::int64_t size = 0;
    if (std::ifstream(device + queue + "/optimal_io_size") >> size) return size;
  }
  return 0;
}

/// Lustre writes its attributes little endian on every machine.
std::uint32_t little_endian(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value |= std::to_integer<std::uint32_t>(bytes[at + i]) << (8 * i);
  return value;
}

}  // namespace

std::int64_t lustre_stripe_size(std::span<const std::byte> attribute) {
  // lov_user_md, versions 1 and 3: magic, pattern, object (16 bytes), stripe size, stripe count.
  constexpr std::size_t stripe_at = 24, shortest = 32;
  if (attribute.size() < shortest) return 0;
  const std::uint32_t magic = little_endian(attribute, 0);
  if (magic != 0x0bd10bd0 && magic != 0x0bd30bd0) return 0;
  return little_endian(attribute, stripe_at);
}

std::int64_t find_stripe_size(int fd, const std::string& type, std::int64_t block_size) {
  if (type == "lustre") return lustre_stripe_size_of(fd);
  if (type == "xfs")
    if (const std::int64_t stripe = xfs_stripe_size(fd); stripe > 0) return stripe;
  const std::int64_t stripe = device_stripe_size(fd);
  return stripe > block_size ? stripe : 0;
}

}  // namespace penstock
