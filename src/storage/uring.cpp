// The storage over io_uring, and its fallbacks.
#include <cstring>

#include "storage/blocks.hpp"
#ifdef PENSTOCK_HAVE_LIBURING
#include "storage/ring.hpp"
#endif

namespace penstock {
namespace {

/// Null, with the reason in the notice, if no ring is available.
std::unique_ptr<Storage> try_ring([[maybe_unused]] const BlockFile& file,
                                  [[maybe_unused]] const std::string& path,
                                  [[maybe_unused]] int depth, std::string& reason) {
#ifdef PENSTOCK_HAVE_LIBURING
  int error = 0;
  auto storage = make_ring_storage(file, path, depth, error);
  if (error == EPERM) reason = "forbidden: see sysctl kernel.io_uring_disabled, or the container";
  else if (error == ENOSYS) reason = "the kernel has none, or one from before Linux 5.6";
  else if (error == ENOMEM) reason = "no memory for the ring: see ulimit -l";
  else if (error != 0) reason = std::strerror(error);
  return storage;
#else
  reason = "Penstock was built without liburing";
  return nullptr;
#endif
}

}  // namespace

std::unique_ptr<Storage> open_uring(const FileName& name, OpenFlag flag, bool direct, int depth,
                                    std::string* notice) {
  BlockFile file;
  if (direct) file = open_block_file(name, flag, notice);
  else file.buffered = open_descriptor(name.path, flag);
  std::string reason;
  if (auto storage = try_ring(file, name.shown, depth, reason)) return storage;
  add_notice(notice, "io_uring does not work for '" + name.shown + "' (" + reason +
                         "): one access at a time");
  if (!file.direct) return make_posix_storage(std::move(file.buffered), name.shown);
  return std::make_unique<BlockStorage>(std::move(file), name.shown);
}

}  // namespace penstock
