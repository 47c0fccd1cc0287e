// Storage over a file that moves whole blocks other than by plain calls through the page cache:
// past it (direct.cpp), many at once (ring_storage.cpp), or both. Private to this module.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/buffer.hpp"
#include "storage/posix.hpp"

namespace penstock {

/// A file, open once or twice, and the requirements of its second descriptor.
struct BlockFile {
  std::shared_ptr<Descriptor> buffered;
  std::shared_ptr<Descriptor> direct;  ///< with O_DIRECT; null: not open, or it does not work
  std::int64_t block = 1;              ///< direct transfers begin and end at multiples of this
  std::int64_t memory_alignment = 1;
};

/// Opens the file both ways. If direct I/O does not work, `direct` is null and `notice` (may be
/// null) gets a line about it. Throws Error(storage) as open_posix does.
BlockFile open_block_file(const FileName& name, OpenFlag flag, std::string* notice);

/// Appends a line to the notice.
void add_notice(std::string* notice, const std::string& text);

/// The part of a request that one system call moves.
class Piece {
 public:
  /// Cuts a piece from `begin` of the request on, of up to `longest` bytes. With `direct`, whole
  /// blocks past the page cache, or less than a block through it. Direct pieces from or into memory
  /// that is not aligned for the device, or in too many places, are copied: up to `bounce_size`
  /// bytes.
  void cut(const BlockFile& file, bool direct, Direction direction, Parts memory,
           std::int64_t offset, std::int64_t begin, std::int64_t longest);

  /// Counts `bytes` more as moved.
  void moved(std::int64_t bytes) noexcept;
  /// After a read through the bounce buffer: copies the bytes to `memory` of the request. Otherwise
  /// does nothing.
  void give_back(Parts memory) const;

  std::int64_t begin() const noexcept { return begin_; }
  std::int64_t size() const noexcept { return size_; }
  std::int64_t done() const noexcept { return done_; }
  Direction direction() const noexcept { return direction_; }
  bool past_cache() const noexcept { return past_cache_; }
  /// The part that is left.
  Parts memory() const noexcept { return left_; }
  std::int64_t offset() const noexcept { return offset_ + done_; }

  static constexpr std::int64_t bounce_size = 1 << 20;

 private:
  Direction direction_ = Direction::read;
  bool past_cache_ = false, bounced_ = false;
  std::int64_t begin_ = 0, size_ = 0, done_ = 0;
  std::int64_t offset_ = 0;  // file offset of its first byte
  std::vector<iovec> parts_;
  std::span<iovec> left_;
  Buffer bounce_;
};

/// Carries out one access at a time: requests of several threads wait for each other. Everything
/// but transfers (size, locks, ...) goes to a posix storage of the same file.
class BlockStorage : public Storage {
 public:
  BlockStorage(BlockFile file, std::string path);
  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override;
  /// Affects what is not whole blocks.
  bool bypass_cache(bool past) override { return buffered_->bypass_cache(past); }
  void forget_cached() override { buffered_->forget_cached(); }
  std::int64_t size() override { return buffered_->size(); }
  std::int64_t resize(std::int64_t bytes) override { return buffered_->resize(bytes); }
  std::int64_t allocate(std::int64_t bytes) override { return buffered_->allocate(bytes); }
  std::int64_t sync() override;
  std::unique_ptr<RangeLock> lock(Extent range, LockKind kind, int& error) override {
    return buffered_->lock(range, kind, error);
  }
  const std::string& path() const override { return buffered_->path(); }

 protected:
  /// False if `offset` is negative or the end exceeds 63 bits. Such a transfer is passed to the
  /// kernel unchanged, so that the caller gets the kernel's error.
  bool is_range(std::int64_t size, std::int64_t offset) const noexcept;
  std::int64_t through_page_cache(Direction direction, Parts memory, std::int64_t offset) {
    return move_once(direction, file_.buffered->number(), memory, offset);
  }
  void cut(Piece& piece, Direction direction, Parts memory, std::int64_t offset, std::int64_t begin,
           std::int64_t longest) const {
    piece.cut(file_, direct_works_, direction, memory, offset, begin, longest);
  }
  std::int64_t block() const noexcept { return file_.block; }
  int number_for(const Piece& piece) const noexcept {
    return (piece.past_cache() ? file_.direct : file_.buffered)->number();
  }
  /// One blocking access: a count, or -errno. If the file system refuses direct I/O after all, this
  /// and all later accesses go through the page cache.
  std::int64_t move_now(const Piece& piece);

 private:
  const BlockFile file_;
  const std::unique_ptr<Storage> buffered_;
  std::atomic<bool> direct_works_;
  std::mutex mutex_;
  Piece piece_;
};

}  // namespace penstock
