// The storage over io_uring, and what takes its place where there is none.
#include <cstring>

#include "storage/blocks.hpp"
#ifdef PENSTOCK_HAVE_LIBURING
#include "storage/ring.hpp"
#endif

namespace penstock {
namespace {

/// Null, with the reason for the notice, where there is no ring to be had.
std::unique_ptr<Mover> try_ring([[maybe_unused]] const BlockFile& file, [[maybe_unused]] int depth,
                                std::string& reason) {
#ifdef PENSTOCK_HAVE_LIBURING
  int error = 0;
  auto mover = make_ring_mover(file, depth, error);
  if (error == EPERM) reason = "forbidden: see sysctl kernel.io_uring_disabled, or the container";
  else if (error == ENOSYS) reason = "the kernel has none, or one from before Linux 5.6";
  else if (error == ENOMEM) reason = "no memory for the ring: see ulimit -l";
  else if (error != 0) reason = std::strerror(error);
  return mover;
#else
  reason = "Penstock was built without liburing";
  return nullptr;
#endif
}

}  // namespace

std::unique_ptr<Storage> open_uring(const std::string& path, OpenFlag flag, bool direct, int depth,
                                    std::string* notice) {
  BlockFile file;
  if (direct) file = open_block_file(path, flag, notice);
  else file.buffered = open_descriptor(path, flag);
  std::string reason;
  auto mover = try_ring(file, depth, reason);
  if (!mover) {
    add_notice(notice,
               "io_uring does not work for '" + path + "' (" + reason + "): one access at a time");
    if (!file.direct) return make_posix_storage(std::move(file.buffered), path);
    mover = make_plain_mover(file);
  }
  return make_block_storage(std::move(file), std::move(mover), path);
}

}  // namespace penstock
