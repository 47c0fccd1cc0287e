// Buffer: page-aligned bytes. MemoryGauge: how much staging memory a rank holds, and its peak.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace penstock {

class MemoryGauge {
 public:
  void add(std::int64_t bytes) noexcept {
    if (bytes > 0) ++allocations_;
    held_ += bytes;
    if (held_ > peak_) peak_ = held_;
  }
  std::int64_t held() const noexcept { return held_; }
  std::int64_t peak() const noexcept { return peak_; }
  std::int64_t allocations() const noexcept { return allocations_; }
  void restart() noexcept {
    peak_ = held_;
    allocations_ = 0;
  }

 private:
  std::int64_t held_ = 0;
  std::int64_t peak_ = 0;
  std::int64_t allocations_ = 0;  // since the restart
};

class Buffer {
 public:
  static constexpr std::int64_t page = 4096;

  Buffer() = default;
  /// `bytes` uninitialised bytes at a page boundary, counted in `gauge` during their lifetime.
  Buffer(std::int64_t bytes, MemoryGauge* gauge);
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Buffer();

  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return size_; }
  std::span<std::byte> first(std::int64_t bytes) noexcept {
    return {data_, static_cast<std::size_t>(bytes)};
  }
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(gauge_, other.gauge_);
  }

 private:
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
  MemoryGauge* gauge_ = nullptr;
};

/// Buffers kept between calls. Idle ones still count in the gauge.
///
/// A buffer is only reused for the use it was made for: so a call needs at most the sum of its
/// maxima per use, whatever other calls left here.
class BufferPool {
 public:
  enum class Use { window, sieve, coverage, messages };

  /// A buffer of at least `bytes`, to be returned with give_back().
  Buffer take(Use use, std::int64_t bytes, MemoryGauge* gauge);
  void give(Use use, Buffer buffer);
  void clear() { idle_.clear(); }

 private:
  std::vector<std::pair<Use, Buffer>> idle_;
};

}  // namespace penstock
