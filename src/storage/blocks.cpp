#include "storage/blocks.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

namespace penstock {

void Piece::cut(const BlockFile& file, bool direct, Direction direction, Parts memory,
                std::int64_t offset, std::int64_t begin, std::int64_t longest) {
  direction_ = direction;
  begin_ = begin;
  done_ = 0;
  offset_ = offset + begin;
  size_ = std::min(size_of(memory) - begin, longest);
  const std::int64_t into_block = offset_ % file.block;
  past_cache_ = direct && into_block == 0 && size_ >= file.block;
  if (past_cache_) size_ = size_ / file.block * file.block;
  else if (direct) size_ = std::min(size_, file.block - into_block);
  parts_.clear();
  const std::int64_t within = append_slice(parts_, memory, begin, size_, most_parts);
  bounced_ =
      past_cache_ && (within < size_ || !are_aligned(parts_, file.memory_alignment, file.block));
  if (!past_cache_) size_ = within;
  if (bounced_) {
    size_ = std::min(size_, bounce_size);
    parts_.clear();
    append_slice(parts_, memory, begin, size_, memory.size());
    if (bounce_.size() == 0) bounce_ = Buffer(bounce_size, nullptr);
    if (direction == Direction::write) gather(parts_, bounce_.data());
    parts_.assign(1, part_of(bounce_.first(size_)));
  }
  left_ = parts_;
}

void Piece::moved(std::int64_t bytes) noexcept {
  left_ = without_first(left_, bytes);
  done_ += bytes;
}

void Piece::give_back(Parts memory) const {
  if (!bounced_ || direction_ == Direction::write) return;
  std::vector<iovec> into;
  append_slice(into, memory, begin_, done_, memory.size());
  scatter(bounce_.data(), done_, into);
}

BlockStorage::BlockStorage(BlockFile file, std::string path)
    : file_(std::move(file)),
      buffered_(make_posix_storage(file_.buffered, std::move(path))),
      direct_works_(file_.direct != nullptr) {
  // Only ends of requests are read through the page cache. Reading ahead would load what is then
  // read directly, and large pages that direct writes would have to drop.
  if (direct_works_) ::posix_fadvise(file_.buffered->number(), 0, 0, POSIX_FADV_RANDOM);
}

/// Moves piece after piece. A short piece ends the transfer: the file ends there, or the caller
/// gets the error by trying the rest.
std::int64_t BlockStorage::move_some(Direction direction, Parts memory, std::int64_t offset) {
  const std::int64_t size = size_of(memory);
  if (!is_range(size, offset)) return through_page_cache(direction, memory, offset);
  // The I/O thread and the program's thread may call at the same time, but piece_ and its bounce
  // buffer serve only one transfer.
  const std::lock_guard guard(mutex_);
  std::int64_t done = 0;
  while (done < size) {
    cut(piece_, direction, memory, offset, done, size - done);
    const std::int64_t moved = move_now(piece_);
    if (moved < 0) return done > 0 ? done : moved;
    piece_.moved(moved);
    piece_.give_back(memory);
    done += moved;
    if (moved < piece_.size()) break;
  }
  return done;
}

std::int64_t BlockStorage::sync() {
  const std::int64_t code = buffered_->sync();
  if (code < 0 || !file_.direct) return code;
  // The kernel reports a writeback error once to each descriptor, and direct writes used this one:
  // without its own fdatasync, their errors would be missed.
  return uninterrupted([&] { return ::fdatasync(file_.direct->number()); }) < 0 ? -errno : 0;
}

bool BlockStorage::is_range(std::int64_t size, std::int64_t offset) const noexcept {
  return offset >= 0 && size <= std::numeric_limits<std::int64_t>::max() - offset;
}

std::int64_t BlockStorage::move_now(const Piece& piece) {
  const std::int64_t moved =
      move_once(piece.direction(), number_for(piece), piece.memory(), piece.offset());
  if (moved != -EINVAL || !piece.past_cache()) return moved;
  // Some file systems accept O_DIRECT on opening and refuse it at the first transfer.
  direct_works_ = false;
  ::posix_fadvise(file_.buffered->number(), 0, 0, POSIX_FADV_NORMAL);
  return through_page_cache(piece.direction(), piece.memory(), piece.offset());
}

}  // namespace penstock
