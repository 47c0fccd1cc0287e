// Tally: a count that several threads add to. Relaxed: orders nothing else.
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock {

class Tally {
 public:
  Tally(std::int64_t value = 0) noexcept : value_(value) {}
  Tally(const Tally& other) noexcept : value_(static_cast<std::int64_t>(other)) {}
  Tally& operator=(const Tally& other) noexcept {
    value_.store(other, std::memory_order_relaxed);
    return *this;
  }
  operator std::int64_t() const noexcept { return value_.load(std::memory_order_relaxed); }
  Tally& operator+=(std::int64_t more) noexcept {
    value_.fetch_add(more, std::memory_order_relaxed);
    return *this;
  }
  Tally& operator++() noexcept { return *this += 1; }
  /// The count since the last take().
  std::int64_t take() noexcept { return value_.exchange(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_;
};

/// True in I/O threads, whose work is not part of the call in progress.
inline thread_local bool in_background = false;

}  // namespace penstock
