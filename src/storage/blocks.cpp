#include "storage/blocks.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>

#include "base/buffer.hpp"

namespace penstock {
namespace {

constexpr std::int64_t bounce_size = 1 << 20;

/// A request as its parts before, in and behind the whole blocks that it covers.
struct Cut {
  std::int64_t head, middle, tail;
};

Cut cut(std::int64_t offset, std::int64_t size, std::int64_t block) {
  const std::int64_t into_block = offset % block;
  const std::int64_t head = into_block == 0 ? 0 : std::min(size, block - into_block);
  const std::int64_t tail = (size - head) % block;
  return {head, size - head - tail, tail};
}

class PlainMover : public Mover {
 public:
  PlainMover(int fd, std::int64_t memory_alignment) : fd_(fd), alignment_(memory_alignment) {}

  std::int64_t move(Way way, std::byte* memory, std::int64_t size, std::int64_t offset) override {
    if (reinterpret_cast<std::uintptr_t>(memory) % static_cast<std::uintptr_t>(alignment_) == 0)
      return transfer_once(way, fd_, memory, size, offset);
    if (bounce_.size() == 0) bounce_ = Buffer(bounce_size, nullptr);
    std::int64_t done = 0;
    while (done < size) {
      const std::int64_t part = std::min(bounce_size, size - done);
      const std::int64_t moved = through_bounce(way, memory + done, part, offset + done);
      if (moved < 0) return done > 0 ? done : moved;
      done += moved;
      if (moved < part) break;
    }
    return done;
  }

 private:
  std::int64_t through_bounce(Way way, std::byte* memory, std::int64_t size, std::int64_t offset) {
    if (way == Way::write) std::memcpy(bounce_.data(), memory, static_cast<std::size_t>(size));
    const std::int64_t moved = transfer_once(way, fd_, bounce_.data(), size, offset);
    if (way == Way::read && moved > 0)
      std::memcpy(memory, bounce_.data(), static_cast<std::size_t>(moved));
    return moved;
  }

  int fd_;
  std::int64_t alignment_;
  Buffer bounce_;
};

class BlockStorage : public Storage {
 public:
  BlockStorage(BlockFile file, std::unique_ptr<Mover> mover, std::string path)
      : file_(std::move(file)),
        buffered_(make_posix_storage(file_.buffered, std::move(path))),
        mover_(std::move(mover)) {
    // Only ends of requests are read through the page cache. Reading ahead of them would bring in
    // what is then read directly, and large pages that direct writes would have to throw out.
    if (file_.direct) advise(POSIX_FADV_RANDOM);
  }

  std::int64_t read_some(std::span<std::byte> into, std::int64_t offset) override {
    return transfer(Way::read, into.data(), std::ssize(into), offset);
  }
  std::int64_t write_some(std::span<const std::byte> from, std::int64_t offset) override {
    auto* memory = const_cast<std::byte*>(from.data());  // only read from
    return transfer(Way::write, memory, std::ssize(from), offset);
  }
  std::int64_t size() override { return buffered_->size(); }
  std::int64_t resize(std::int64_t bytes) override { return buffered_->resize(bytes); }
  std::int64_t sync() override {
    const std::int64_t code = buffered_->sync();
    if (code < 0 || !file_.direct) return code;
    // The kernel keeps for each descriptor apart which errors of writing back it has told.
    return uninterrupted([&] { return ::fdatasync(file_.direct->number()); }) < 0 ? -errno : 0;
  }
  std::unique_ptr<RangeLock> lock(Extent range, LockKind kind, int& error) override {
    return buffered_->lock(range, kind, error);
  }
  const std::string& path() const override { return buffered_->path(); }

 private:
  /// All that one call can do: ends and middle in turn, until one of them is short.
  std::int64_t transfer(Way way, std::byte* memory, std::int64_t size, std::int64_t offset) {
    const bool representable =
        offset >= 0 && size <= std::numeric_limits<std::int64_t>::max() - offset;
    // The I/O thread and the program's may come at a time; the mover's buffers and ring are one's.
    const std::lock_guard guard(mutex_);
    if (!mover_ || !representable) return through_page_cache(way, memory, size, offset);
    const Cut parts = cut(offset, size, file_.block);
    std::int64_t done = 0;
    for (const auto& [part, whole_blocks] :
         {std::pair{parts.head, false}, {parts.middle, true}, {parts.tail, false}}) {
      if (part == 0) continue;
      const std::int64_t moved = whole_blocks
                                     ? move_blocks(way, memory + done, part, offset + done)
                                     : through_page_cache(way, memory + done, part, offset + done);
      if (moved < 0) return done > 0 ? done : moved;
      done += moved;
      if (moved < part) break;
    }
    return done;
  }

  std::int64_t move_blocks(Way way, std::byte* memory, std::int64_t size, std::int64_t offset) {
    if (!mover_) return through_page_cache(way, memory, size, offset);
    const std::int64_t moved = mover_->move(way, memory, size, offset);
    if (moved != -EINVAL) return moved;
    // Some file systems take O_DIRECT at the opening and refuse it at the first transfer.
    mover_.reset();
    advise(POSIX_FADV_NORMAL);
    return through_page_cache(way, memory, size, offset);
  }

  std::int64_t through_page_cache(Way way, std::byte* memory, std::int64_t size,
                                  std::int64_t offset) {
    return transfer_once(way, file_.buffered->number(), memory, size, offset);
  }

  void advise(int advice) { ::posix_fadvise(file_.buffered->number(), 0, 0, advice); }

  std::mutex mutex_;
  BlockFile file_;
  std::unique_ptr<Storage> buffered_;
  std::unique_ptr<Mover> mover_;  // null: it does not work after all
};

}  // namespace

std::unique_ptr<Mover> make_plain_mover(const BlockFile& file) {
  return std::make_unique<PlainMover>(file.number(), file.memory_alignment);
}

std::unique_ptr<Storage> make_block_storage(BlockFile file, std::unique_ptr<Mover> mover,
                                            std::string path) {
  return std::make_unique<BlockStorage>(std::move(file), std::move(mover), std::move(path));
}

}  // namespace penstock
