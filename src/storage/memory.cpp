#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include "storage/storage.hpp"

namespace penstock {
namespace {

/// Blocks of 1 MiB, allocated on the first write: high offsets cost nothing.
class MemoryStorage : public Storage {
 public:
  MemoryStorage(std::string name, std::int64_t size) : path_(std::move(name)), size_(size) {}

  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override {
    if (offset < 0) return -EINVAL;
    const bool writes = direction == Direction::write;
    const std::int64_t asked = size_of(memory);
    if (writes && asked > std::numeric_limits<std::int64_t>::max() - offset) return -EFBIG;
    const std::int64_t count = writes ? asked : std::clamp<std::int64_t>(size_ - offset, 0, asked);
    std::int64_t done = 0;
    for (const iovec& part : memory) {
      const std::int64_t size = std::min(count - done, static_cast<std::int64_t>(part.iov_len));
      writes ? write(begin_of(part), size, offset + done)
             : read(begin_of(part), size, offset + done);
      done += size;
    }
    if (writes && count > 0) size_ = std::max(size_, offset + count);
    return count;
  }

  std::int64_t size() override { return size_; }

  std::int64_t resize(std::int64_t bytes) override {
    if (bytes < 0) return -EINVAL;
    // What is cut off must read as zeros if the file grows again.
    const auto last = blocks_.find(bytes / block_size);
    if (last != blocks_.end())
      std::fill(last->second.begin() + bytes % block_size, last->second.end(), std::byte{0});
    blocks_.erase(blocks_.upper_bound(bytes / block_size), blocks_.end());
    size_ = bytes;
    return 0;
  }

  std::int64_t sync() override { return 0; }
  std::unique_ptr<RangeLock> lock(Extent, LockKind, int& error) override {
    error = 0;  // no other handle can exist
    return std::make_unique<RangeLock>();
  }
  const std::string& path() const override { return path_; }

 private:
  static constexpr std::int64_t block_size = 1 << 20;
  static std::int64_t within_block(std::int64_t offset, std::int64_t most) {
    return std::min(most, block_size - offset % block_size);
  }

  void read(std::byte* into, std::int64_t size, std::int64_t offset) const {
    for (std::int64_t at = 0; at < size;) {
      const std::int64_t part = within_block(offset + at, size - at);
      const auto bytes = static_cast<std::size_t>(part);
      const auto found = blocks_.find((offset + at) / block_size);
      if (found == blocks_.end()) std::memset(into + at, 0, bytes);
      else std::memcpy(into + at, found->second.data() + (offset + at) % block_size, bytes);
      at += part;
    }
  }
  void write(const std::byte* from, std::int64_t size, std::int64_t offset) {
    for (std::int64_t at = 0; at < size;) {
      const std::int64_t part = within_block(offset + at, size - at);
      auto& block = blocks_[(offset + at) / block_size];
      block.resize(block_size);
      std::memcpy(block.data() + (offset + at) % block_size, from + at,
                  static_cast<std::size_t>(part));
      at += part;
    }
  }

  std::string path_;
  std::int64_t size_;
  std::map<std::int64_t, std::vector<std::byte>> blocks_;
};

}  // namespace

std::unique_ptr<Storage> make_memory_storage(std::string name, std::int64_t initial_size) {
  return std::make_unique<MemoryStorage>(std::move(name), initial_size);
}

}  // namespace penstock
