#include "base/buffer.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace penstock {
Buffer::Buffer(std::int64_t bytes, MemoryGauge* gauge) : size_(bytes), gauge_(gauge) {
  if (bytes <= 0) {
    size_ = 0;
    return;
  }
  const auto rounded = static_cast<std::size_t>((bytes + page - 1) / page * page);
  data_ = static_cast<std::byte*>(std::aligned_alloc(page, rounded));
  if (data_ == nullptr) throw std::bad_alloc();
  if (gauge_ != nullptr) gauge_->add(size_);
}

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  std::free(data_);
  if (gauge_ != nullptr) gauge_->add(-size_);
}

Buffer BufferPool::take(Use use, std::int64_t bytes, MemoryGauge* gauge) {
  const auto fits = [&](const std::pair<Use, Buffer>& idle) {
    const std::int64_t size = idle.second.size();
    return idle.first == use && size >= bytes && size <= 2 * bytes;
  };
  const auto found = std::find_if(idle_.begin(), idle_.end(), fits);
  if (found == idle_.end()) {
    idle_.clear();  // of other sizes: requests have changed, and idle memory is bounded
    return Buffer(bytes, gauge);
  }
  Buffer buffer = std::move(found->second);
  idle_.erase(found);
  return buffer;
}

void BufferPool::give(Use use, Buffer buffer) {
  if (buffer.data() != nullptr) idle_.emplace_back(use, std::move(buffer));
}

}  // namespace penstock
