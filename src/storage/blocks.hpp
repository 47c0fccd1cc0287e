// Storage over a file that moves whole blocks another way than through the page cache: past it
// (direct.cpp), many at once (ring_storage.cpp), or both. Not for other modules.
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

/// One file, open once or twice, and what its second opening asks of a transfer.
struct BlockFile {
  std::shared_ptr<Descriptor> buffered;
  std::shared_ptr<Descriptor> direct;  ///< with O_DIRECT; null: not open, or it does not work
  std::int64_t block = 1;              ///< transfers begin and end at multiples of this
  std::int64_t memory_alignment = 1;
};

/// Opens the file both ways. Where direct I/O does not work, `direct` is null and `notice` (may be
/// null) says so in one line. Throws Error(storage) as open_posix does.
BlockFile open_block_file(const FileName& name, OpenFlag flag, std::string* notice);

/// Adds one line of notice to what is there.
void add_notice(std::string* notice, const std::string& text);

/// What one access to the file of the operating system moves of a request.
class Piece {
 public:
  /// From `begin` of the request on, up to `longest` bytes. With `direct`, whole blocks past the
  /// page cache, or less than a block through it. What goes past it from or into memory that is not
  /// aligned for the device, or in too many places, is copied: up to `bounce_size` bytes.
  void cut(const BlockFile& file, bool direct, Direction direction, Parts memory,
           std::int64_t offset, std::int64_t begin, std::int64_t longest);

  /// Takes `bytes` more for moved.
  void moved(std::int64_t bytes) noexcept;
  /// After a read that went through the bounce buffer: copies the bytes to `memory` of the request.
  /// Otherwise does nothing.
  void give_back(Parts memory) const;

  std::int64_t begin() const noexcept { return begin_; }
  std::int64_t size() const noexcept { return size_; }
  std::int64_t done() const noexcept { return done_; }
  Direction direction() const noexcept { return direction_; }
  bool past_cache() const noexcept { return past_cache_; }
  /// What is left of it.
  Parts memory() const noexcept { return left_; }
  std::int64_t offset() const noexcept { return offset_ + done_; }

  static constexpr std::int64_t bounce_size = 1 << 20;

 private:
  Direction direction_ = Direction::read;
  bool past_cache_ = false, bounced_ = false;
  std::int64_t begin_ = 0, size_ = 0, done_ = 0;
  std::int64_t offset_ = 0;  // of its first byte in the file
  std::vector<iovec> parts_;
  std::span<iovec> left_;
  Buffer bounce_;
};

/// Carries out one access at a time: requests of several threads wait for each other. Size, locks
/// and everything else that is no transfer go to a posix storage of the same file.
class BlockStorage : public Storage {
 public:
  BlockStorage(BlockFile file, std::string path);
  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override;
  /// Of what is not whole blocks.
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
  /// False where `offset` is negative or the end passes 63 bits. Such a transfer is passed on to
  /// the kernel as it is, so that the caller gets the kernel's error.
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
  /// One blocking access: a count, or -errno. Where the file system refuses direct I/O after all,
  /// it goes through the page cache, and so do all later ones.
  std::int64_t move_now(const Piece& piece);

 private:
  const BlockFile file_;
  const std::unique_ptr<Storage> buffered_;
  std::atomic<bool> direct_works_;
  std::mutex mutex_;
  Piece piece_;
};

}  // namespace penstock
