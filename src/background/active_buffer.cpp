#include "background/active_buffer.hpp"

#include <algorithm>
#include <limits>
#include <new>

namespace penstock {
namespace {

/// Free ranges between units in use may each be too short for a request although their sum is
/// enough. So addresses up to this far beyond the budget are used; bytes in use stay within it.
constexpr std::int64_t slack = std::int64_t{4} << 20;

}  // namespace

bool ActiveBuffer::open_arena() {
  const std::lock_guard guard(mutex_);
  return arena_->open();
}

bool ActiveBuffer::fits(std::int64_t bytes, std::int64_t budget) const noexcept {
  return in_use_ + bytes <= budget;
}

bool ActiveBuffer::has_room(std::int64_t bytes, std::int64_t budget) {
  const std::lock_guard guard(mutex_);
  return fits(bytes, budget);
}

/// Memory, or none if the arena has no free range for it below the budget.
ActiveBuffer::Memory ActiveBuffer::carve(std::int64_t bytes, std::int64_t budget) {
  Memory memory;
  if (!arena_->open()) throw std::bad_alloc();
  const std::int64_t offset = arena_->take(bytes, budget);
  if (offset == Arena::none) return memory;
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  memory.owner_ = this;
  memory.offset_ = offset;
  memory.bytes_ = bytes;
  return memory;
}

ActiveBuffer::Memory ActiveBuffer::take(std::int64_t bytes, std::int64_t budget) {
  std::unique_lock guard(mutex_);
  for (;;) {
    if (fits(bytes, budget))
      if (Memory memory = carve(bytes, budget + slack)) return memory;
    if (queued_ == 0) {
      if (Memory memory = carve(bytes, std::numeric_limits<std::int64_t>::max())) return memory;
      throw std::bad_alloc();
    }
    changed_.wait(guard);
  }
}

ActiveBuffer::Memory ActiveBuffer::try_take(std::int64_t bytes, std::int64_t budget) {
  const std::lock_guard guard(mutex_);
  return fits(bytes, budget) ? carve(bytes, budget + slack) : Memory();
}

void ActiveBuffer::trim(std::int64_t budget) {
  const std::lock_guard guard(mutex_);
  if (arena_->committed() > budget + slack) arena_->trim(budget);
}

void ActiveBuffer::give(std::int64_t offset, std::int64_t bytes) noexcept {
  const std::lock_guard guard(mutex_);
  arena_->give(offset, bytes);
  in_use_ -= bytes;
  changed_.notify_all();
}

void ActiveBuffer::Memory::release() noexcept {
  if (owner_ != nullptr) owner_->give(offset_, bytes_);
  owner_ = nullptr;
}

std::byte* ActiveBuffer::Memory::data() const noexcept {
  return owner_ == nullptr ? nullptr : owner_->arena_->view().base + offset_;
}

void ActiveBuffer::unit_queued() {
  const std::lock_guard guard(mutex_);
  ++queued_;
}

void ActiveBuffer::unit_ended() {
  const std::lock_guard guard(mutex_);
  --queued_;
  changed_.notify_all();
  for (const auto& [id, wake] : wakers_) wake();
}

bool ActiveBuffer::nothing_queued() {
  const std::lock_guard guard(mutex_);
  return queued_ == 0;
}

int ActiveBuffer::call_after_units(std::function<void()> wake) {
  const std::lock_guard guard(mutex_);
  wakers_[++next_waker_] = std::move(wake);
  return next_waker_;
}

void ActiveBuffer::cancel_call(int id) {
  const std::lock_guard guard(mutex_);
  wakers_.erase(id);
}

std::int64_t ActiveBuffer::in_use() {
  const std::lock_guard guard(mutex_);
  return in_use_;
}

std::int64_t ActiveBuffer::peak() {
  const std::lock_guard guard(mutex_);
  return peak_;
}

void ActiveBuffer::restart_peak() {
  const std::lock_guard guard(mutex_);
  peak_ = in_use_;
}

void ActiveBuffer::forget() {
  // It counts the parent's waiting threads: a notification could go to one of these.
  new (&changed_) std::condition_variable;
  static_cast<void>(arena_.release());
  arena_ = std::make_unique<Arena>();
  in_use_ = queued_ = 0;
  wakers_.clear();
}

}  // namespace penstock
