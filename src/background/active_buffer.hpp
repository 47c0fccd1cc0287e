// ActiveBuffer: memory for bytes that a process has accepted to write (Ma, Winslett, Lee & Yu,
// *Improving MPI-IO Output Performance with Active Buffering Plus Threads*), shared by all queues.
//
// Memory in use stays within the budget of the call that takes it, plus one piece: if no unit is
// queued, a piece is granted beyond the budget, since nothing would end the wait. The budget is a
// parameter of each call, so it may change from call to call.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "background/arena.hpp"

namespace penstock {

class ActiveBuffer {
 public:
  /// A piece of the arena. Released by its destructor.
  class Memory {
   public:
    Memory() = default;
    Memory(Memory&& other) noexcept { *this = std::move(other); }
    Memory& operator=(Memory&& other) noexcept {
      std::swap(owner_, other.owner_);
      std::swap(offset_, other.offset_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Memory() { release(); }
    void release() noexcept;
    std::byte* data() const noexcept;
    std::int64_t offset() const noexcept { return offset_; }  // within the arena
    std::int64_t size() const noexcept { return bytes_; }
    explicit operator bool() const noexcept { return owner_ != nullptr; }

   private:
    friend class ActiveBuffer;
    ActiveBuffer* owner_ = nullptr;
    std::int64_t offset_ = 0, bytes_ = 0;
  };

  ActiveBuffer() : arena_(std::make_unique<Arena>()) {}
  ActiveBuffer(const ActiveBuffer&) = delete;

  /// Makes this process's memory accessible to other processes of the node. False if that fails.
  bool open_arena();
  std::byte* arena_base() const noexcept { return arena_->view().base; }
  int arena_descriptor() const noexcept { return arena_->descriptor(); }

  bool has_room(std::int64_t bytes, std::int64_t budget);
  /// Waits until there is room for `bytes`, whichever queue frees it. Throws std::bad_alloc if the
  /// system has no memory although nothing is queued.
  Memory take(std::int64_t bytes, std::int64_t budget);
  /// The same without waiting; empty if there is no room.
  Memory try_take(std::int64_t bytes, std::int64_t budget);
  /// Returns unused memory beyond `budget` to the system.
  void trim(std::int64_t budget);

  /// Called by the queues, which count their units here: without any, take() does not wait.
  void unit_queued();
  void unit_ended();
  bool nothing_queued();
  /// Calls `wake` from an I/O thread after each unit of any queue, until cancelled.
  int call_after_units(std::function<void()> wake);
  void cancel_call(int id);

  std::int64_t in_use();
  std::int64_t peak();  // most bytes in use since the process started or restart_peak()
  void restart_peak();

  /// Around a fork. In the child nothing is in use, and the arena is a new one: the parent's is
  /// shared by both.
  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }
  void forget();  // with the lock held

 private:
  bool fits(std::int64_t bytes, std::int64_t budget) const noexcept;
  Memory carve(std::int64_t bytes, std::int64_t budget);
  void give(std::int64_t offset, std::int64_t bytes) noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;  // memory was freed, or a unit has ended
  std::unique_ptr<Arena> arena_;
  std::int64_t in_use_ = 0, peak_ = 0;
  std::int64_t queued_ = 0;  // units in all queues
  std::map<int, std::function<void()>> wakers_;
  int next_waker_ = 0;
};

}  // namespace penstock
