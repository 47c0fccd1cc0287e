// WindowQueue: the windows of one call on one rank, and the threads that fill or flush them.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/domain_table.hpp"

namespace penstock {

/// Writes windows to storage or reads them, in the background if the plan says so. Windows of a
/// buffered write are in the active buffer and belong to its I/O thread once they are filled.
class WindowQueue {
 public:
  /// `background`: storage calls may run beside the thread that exchanges, and wait for a permit
  /// there; otherwise the caller takes care of permits.
  WindowQueue(Context& context, const Plan& plan, const Hints& hints, Direction direction,
              bool background);
  ~WindowQueue();

  /// Windows that open() gets no address for lie in the first slots of `owner`, as many as the plan
  /// is deep, instead of buffers of their own.
  void lie_in(NodeStaging& staging, int owner) noexcept;
  /// The window of the table's next round, once there is memory for it; a read is in progress when
  /// this returns. `address`: see DomainTable::open; unused for windows in the active buffer.
  Window& open(DomainTable& table, std::byte* address = nullptr);
  /// Whether open() would wait for room in the active buffer.
  bool must_wait();
  /// Reads ahead into the active buffer, as far as there is room within `budget`.
  void read_ahead(DomainTable& table, std::int64_t budget);
  /// Whether everything that read_ahead() started is in memory.
  bool has_read_ahead() { return ahead_.empty() || ahead_.back()->is_done(); }
  bool finished(const DomainTable& table) const noexcept {
    return table.finished() && ahead_.empty();
  }
  bool buffered() const noexcept { return by_ == By::io_thread; }
  /// start_flush() and open() may return before storage is done with a window.
  bool completes_later() const noexcept { return by_ != By::caller; }
  /// Whether open() would not wait for an earlier window's storage access.
  bool next_is_free() { return windows_.empty() || windows_[turn_]->is_done(); }
  /// For a buffered write the window is gone after this.
  void start_flush(Window& window);
  /// Waits for what was started. After a failed fill the staging buffer is all zeros: other ranks
  /// must get something, but not old memory.
  void finish(Window& window);
  void finish_all();
  bool deep() const noexcept { return windows_.size() > 1; }
  /// The first error. The file is not accessed after it, but the exchange continues, so that no
  /// other rank waits for ever.
  const std::optional<Error>& error() const noexcept { return error_; }

 private:
  /// Who fills and flushes windows. The I/O thread has filled those that were read ahead.
  enum class By {
    caller,       // the calling thread, which waits for storage
    storage,      // storage completes what the calling thread has begun: reads need no other thread
    call_thread,  // a thread for the file's calls
    io_thread     // the device's, at any time after the call
  };
  static By choose(const Context& context, const Plan& plan, const Hints& hints, bool reads,
                   bool background);

  std::unique_ptr<WindowIo> make_memory(StagingMemory memory);
  Window& next();
  Window& open_in_active_buffer(DomainTable& table);
  void start(Window& window, bool fills);
  void fill_ahead(Window& window);
  void lend_to_call_thread(Window& window, bool fills);
  bool goes_beside_others(Window& window);
  std::chrono::microseconds take_delay();

  Context& context_;
  const Hints& hints_;
  const std::int64_t aggregator_, aggregators_, unit_bytes_;
  const int writers_;
  const bool reads_;
  const By by_;
  NodeStaging* staging_ = nullptr;  // holds the windows
  int owner_ = 0;                   // of the slots there
  std::size_t turn_ = 0;
  bool delayed_ = false;  // the first flush was delayed
  std::optional<Error> error_;
  /// For any thread: a job has failed, and those behind it must not begin.
  std::atomic<bool> failed_ = false;
  Buffer sieve_;  // shared by all windows: with the thread that flushes one
  std::vector<std::unique_ptr<Window>> windows_;
  // In the active buffer: open, and read ahead but not open yet.
  std::vector<std::unique_ptr<Window>> open_;
  std::deque<std::unique_ptr<Window>> ahead_;
};

/// Gives the memory of a filled window to the I/O thread for good. `writers`: see Permit; `owners`:
/// ranks that have windows of the call; `delay`: before it is written.
void hand_over(Context& context, std::unique_ptr<WindowIo> filled, int writers, std::int64_t owners,
               std::chrono::microseconds delay = {});

}  // namespace penstock
