#include "base/buffer.hpp"

#include <cstdlib>
#include <new>

namespace penstock {
namespace {
constexpr std::size_t page = 4096;
}

Buffer::Buffer(std::int64_t bytes, MemoryGauge* gauge) : size_(bytes), gauge_(gauge) {
  if (bytes <= 0) {
    size_ = 0;
    return;
  }
  const std::size_t rounded = (static_cast<std::size_t>(bytes) + page - 1) / page * page;
  data_ = static_cast<std::byte*>(std::aligned_alloc(page, rounded));
  if (data_ == nullptr) throw std::bad_alloc();
  if (gauge_ != nullptr) gauge_->add(size_);
}

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  std::free(data_);
  if (gauge_ != nullptr) gauge_->add(-size_);
}

}  // namespace penstock
