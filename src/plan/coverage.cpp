#include "plan/coverage.hpp"

#include <algorithm>
#include <bit>

namespace penstock {

void Coverage::restart(Extent window) {
  window_ = window;
  word_count_ = (window.length() + 63) / 64;
  if (word_count_ * 8 > storage_.size()) {
    storage_ = Buffer();  // released first: the peak counts
    storage_ = pool_ ? pool_->take(BufferPool::Use::coverage, word_count_ * 8, gauge_)
                     : Buffer(word_count_ * 8, gauge_);
  }
  words_ = reinterpret_cast<std::uint64_t*>(storage_.data());
  std::fill_n(words_, word_count_, 0);
}

void Coverage::mark(const Batch& batch) {
  std::int64_t begin = batch.file - window_.begin;
  if (batch.file_step == batch.run) return mark_run(begin, begin + batch.run * batch.count);
  for (std::int64_t i = 0; i < batch.count; ++i, begin += batch.file_step)
    mark_run(begin, begin + batch.run);
}

void Coverage::mark_run(std::int64_t begin, std::int64_t end) noexcept {
  const std::int64_t first = begin / 64, last = (end - 1) / 64;
  const std::uint64_t head = ~std::uint64_t{0} << (begin % 64);
  const std::uint64_t tail = ~std::uint64_t{0} >> (63 - (end - 1) % 64);
  if (first == last) {
    words_[first] |= head & tail;
    return;
  }
  words_[first] |= head;
  std::fill(words_ + first + 1, words_ + last, ~std::uint64_t{0});
  words_[last] |= tail;
}

std::int64_t Coverage::wanted() const noexcept {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < word_count_; ++i) count += std::popcount(words_[i]);
  return count;
}

std::int64_t Coverage::run_count() const noexcept {
  std::int64_t count = 0;
  std::uint64_t before = 0;  // the last bit of the previous word: a run begins where it was clear
  for (std::int64_t i = 0; i < word_count_; ++i) {
    count += std::popcount(words_[i] & ~((words_[i] << 1) | before));
    before = words_[i] >> 63;
  }
  return count;
}

std::int64_t Coverage::find(std::int64_t from, bool value) const noexcept {
  const std::int64_t length = window_.length();
  if (from >= length) return length;
  std::int64_t i = from / 64;
  const std::uint64_t flip = value ? 0 : ~std::uint64_t{0};
  std::uint64_t word = (words_[i] ^ flip) & (~std::uint64_t{0} << (from % 64));
  while (word == 0) {
    if (++i == word_count_) return length;
    word = words_[i] ^ flip;
  }
  return std::min(length, i * 64 + std::countr_zero(word));
}

}  // namespace penstock
