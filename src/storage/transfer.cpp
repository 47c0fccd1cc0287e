#include <cerrno>

#include "storage/storage.hpp"

namespace penstock {
namespace {

/// Repeats `step(done)` until `size` bytes are done. `zero_error`: what a call that moved nothing
/// means (0: the end of the file).
template <class Step>
Transfer repeat(std::int64_t size, int zero_error, Step&& step) {
  Transfer transfer;
  while (transfer.bytes < size) {
    const std::int64_t moved = step(transfer.bytes);
    if (moved == -EINTR) continue;  // a signal, not a failure
    if (moved <= 0) {
      transfer.error = moved < 0 ? static_cast<int>(-moved) : zero_error;
      break;
    }
    transfer.bytes += moved;
  }
  return transfer;
}

}  // namespace

Transfer read_fully(Storage& storage, std::span<std::byte> into, std::int64_t offset) {
  return repeat(static_cast<std::int64_t>(into.size()), 0, [&](std::int64_t done) {
    return storage.read_some(into.subspan(static_cast<std::size_t>(done)), offset + done);
  });
}

Transfer write_fully(Storage& storage, std::span<const std::byte> from, std::int64_t offset) {
  return repeat(static_cast<std::int64_t>(from.size()), EIO, [&](std::int64_t done) {
    return storage.write_some(from.subspan(static_cast<std::size_t>(done)), offset + done);
  });
}

}  // namespace penstock
