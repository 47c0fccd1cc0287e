// IoQueue: a queue of units and one thread that carries them out, in order of submission. Each ends
// before the next one begins, except units of one write if storage completes later: these are in
// flight together, and end in order. The thread starts with the first unit, and ends after a while
// without any. If no thread can be started, the thread that submits a unit carries it out.
//
// The library has no other kind of thread. Most are I/O threads: their queue belongs to a device,
// and its units outlive the calls that submit them and never call MPI. A queue of calls belongs to
// one open file: its units are work that a call does in another thread beside its own.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "background/active_buffer.hpp"
#include "background/io_unit.hpp"
#include "background/unit_record.hpp"

namespace penstock {

/// Whether queues that can be throttled may begin units: not while `throttles` > 0, unless
/// `expedites` > 0, too. Queues must be woken when this changes to "may".
struct Throttling {
  std::atomic<int> throttles = 0;  // writers that copy, and need the cores
  std::atomic<int> expedites = 0;  // callers that wait for units of any queue
};

class IoQueue {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Kind {
    device,
    /// Its units write to the page cache, which needs a core rather than a device: it begins none
    /// while writers copy, unless a caller waits for one.
    page_cache,
    /// Its units are parts of calls: they count as such, and hold no room in the active buffer.
    calls
  };

  /// `idle`: how long its thread is kept without units.
  IoQueue(ActiveBuffer& memory, const Throttling& throttling, Kind kind, Clock::duration idle)
      : memory_(memory), throttling_(throttling), kind_(kind), idle_(idle) {}
  IoQueue(const IoQueue&) = delete;
  ~IoQueue() { finish(); }

  IoTicket submit(UnitRecord& file, IoUnit unit);
  /// For a queue of calls: the unit has no extent, and must not throw.
  IoTicket submit(IoUnit unit) { return submit(calls_, std::move(unit)); }
  bool is_done(IoTicket ticket);
  void wait(IoTicket ticket);
  /// Waits until nothing of the file is queued.
  void drain(const UnitRecord& file, UnitRecord::Which which);
  /// For a queue of calls: waits until nothing is queued.
  void drain() { drain(calls_, UnitRecord::Which::all); }
  bool is_drained(const UnitRecord& file, UnitRecord::Which which);
  /// To be held while the record of one of its files is read or changed.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  /// A caller waits for a unit of this queue, or of any, or the queue is being stopped: nothing may
  /// delay its units.
  bool is_expedited();
  /// After a change of Throttling: the thread checks again whether it may begin a unit.
  void wake();
  /// The thread ends after the last unit; a later unit starts it again. stop() returns at once,
  /// finish() when the thread has ended.
  void stop();
  void finish() noexcept;
  bool has_thread();

  /// Around a fork. The child has neither the thread nor anything to write: that is its parent's.
  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }
  void forget();  // with the lock held

 private:
  struct QueuedUnit {
    UnitRecord* file;
    IoUnit unit;
    bool dropped = false;  // decided when it begins: an earlier unit of the file has failed
    std::optional<Error> error = std::nullopt;
  };
  template <class Over>
  void await(Over&& over);
  bool start();
  void run();
  void run_here(std::unique_lock<std::mutex>& guard);
  void begin_next(std::unique_lock<std::mutex>& guard);
  void end_oldest(std::unique_lock<std::mutex>& guard);
  void step(std::unique_lock<std::mutex>& guard);
  bool next_joins() const;
  bool may_begin() const noexcept;
  bool is_throttleable() const noexcept { return kind_ == Kind::page_cache; }
  bool is_of_calls() const noexcept { return kind_ == Kind::calls; }

  ActiveBuffer& memory_;
  const Throttling& throttling_;
  const Kind kind_;
  const Clock::duration idle_;
  std::mutex mutex_;
  std::condition_variable has_work_, done_;  // done_: a unit or the thread has ended
  std::deque<QueuedUnit> entries_, under_way_;
  UnitRecord calls_;  // for units that belong to no file
  IoTicket submitted_ = 0, finished_ = 0;
  int awaited_ = 0;  // number of waits for units of this queue
  bool running_ = false, stop_ = false;
  std::thread thread_;  // joinable, running or not
};

}  // namespace penstock
