// Recorder: all measurements of calls go through it. Each phase of a call, on whatever thread, is a
// span that is given to a recorder; Statistics are their sums, and a listener gets each span.
// Without a listener a span costs two clock readings.
//
// Operations in flight have a recorder each, and so have units of the background.
#pragma once

#include <penstock/statistics.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace penstock {

/// What the time of a span was spent on. Spans nest: waiting within an exchange is part of both.
/// Statistics have the sums of plan to room; the others only go to listeners.
enum class Phase {
  in_flight,  // an operation from begin to end, possibly longer than the call that began it
  plan,       // including the agreement on it
  exchange,   // by messages
  copy,
  storage,   // including locks, and reading the bytes in holes
  wait,      // for other ranks or I/O threads
  room,      // for memory of the active buffer
  metadata,  // rank 0's work on headers and on the metadata of HDF5, netCDF and Zarr; on other
             // ranks the wait for it

  open_call,  // a call of the program, as long as it takes
  close_call,
  read_call,
  write_call,
  begin_read_call,
  begin_write_call,
  wait_call,  // for an operation that has begun
  sync_call,
  size_call,  // asks for the size of the file, or sets it
  other_call,

  simple_read,  // a call that consists of one access to the file
  simple_write,

  file_read,  // one access to the file
  file_write,
  file_sync,
};
inline constexpr int phases = static_cast<int>(Phase::file_sync) + 1;

/// Seconds per phase, each counted once: of nested phases, the inner one's. Waiting while there is
/// no room counts as waiting for room.
struct TimeParts {
  double plan = 0, exchange = 0, copy = 0, storage = 0, wait = 0, room = 0;

  double sum() const noexcept { return plan + exchange + copy + storage + wait + room; }
  TimeParts& operator+=(const TimeParts& more) noexcept;
  /// Null: not one of the parts.
  double* of(Phase phase) noexcept;
};

struct Span {
  using Clock = std::chrono::steady_clock;

  std::int64_t operation = 0;  // number of the call that began it
  Phase phase = Phase::plan;
  std::int64_t bytes = 0;
  std::int64_t offset = -1;  // in the file, of the first byte; -1: unknown
  Clock::time_point begin, end;

  double seconds() const noexcept { return std::chrono::duration<double>(end - begin).count(); }
};

/// Gets the spans of all threads of a process as each of them ends.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void take(const Span& span) noexcept = 0;
};

class Recorder {
 public:
  explicit Recorder(std::int64_t operation = 0, Listener* listener = nullptr) noexcept
      : operation_(operation), listener_(listener) {}
  /// Another recorder for the same operation, for another thread.
  Recorder another() const noexcept { return Recorder(operation_, listener_); }

  Statistics counts;

  void add(Span span) noexcept;
  /// Phases of a recorder begin and end in its thread, in any order.
  void begin_part(Phase phase, Span::Clock::time_point now) noexcept;
  void end_part(Phase phase, Span::Clock::time_point now) noexcept;
  /// For the recorder's thread alone, unlike `counts`.
  TimeParts parts;
  Listener* listener() const noexcept { return listener_; }
  std::int64_t operation() const noexcept { return operation_; }

 private:
  static constexpr std::size_t most_within_each_other = 8;
  void settle(Span::Clock::time_point now) noexcept;

  std::int64_t operation_;
  Listener* listener_;
  std::array<Phase, most_within_each_other> under_way_{};  // the innermost last
  std::size_t under_way_count_ = 0;
  Span::Clock::time_point settled_{};
};

/// For listeners: the accesses to a file within a span of storage. The first begins with the span,
/// each further one where the previous one ends, and the last ends with the span: so a single
/// access costs no clock reading.
class Accesses {
 public:
  Accesses(Listener& listener, const Span& storage) noexcept
      : listener_(listener), access_(storage), outer_(current_) {
    current_ = this;
  }
  Accesses(const Accesses&) = delete;
  ~Accesses() { current_ = outer_; }
  void begin() noexcept {
    if (there_is_one_) report(Span::Clock::now());
    access_.begin = there_is_one_ ? access_.end : access_.begin;
  }
  void end(Phase phase, std::int64_t bytes, std::int64_t offset) noexcept {
    there_is_one_ = true;
    access_.phase = phase;
    access_.bytes = bytes;
    access_.offset = offset;
  }
  void finish(Span::Clock::time_point end) noexcept {
    if (there_is_one_) report(end);
  }
  /// Of this thread's current storage span; null: there is none, or no listener.
  static Accesses* current() noexcept { return current_; }

 private:
  void report(Span::Clock::time_point end) noexcept {
    access_.end = end;
    listener_.take(access_);
  }

  Listener& listener_;
  Span access_;
  bool there_is_one_ = false;
  Accesses* outer_;
  static inline thread_local Accesses* current_ = nullptr;
};

/// A span as long as its lifetime. One of storage begins and ends in the same thread.
class Timed {
 public:
  Timed(Recorder& recorder, Phase phase, std::int64_t bytes = 0, std::int64_t offset = -1) noexcept
      : recorder_(recorder),
        span_{recorder.operation(), phase, bytes, offset, Span::Clock::now(), {}} {
    recorder_.begin_part(phase, span_.begin);
    if (phase == Phase::storage && recorder.listener() != nullptr)
      accesses_.emplace(*recorder.listener(), span_);
  }
  Timed(const Timed&) = delete;
  ~Timed() {
    span_.end = Span::Clock::now();
    if (accesses_) accesses_->finish(span_.end);
    recorder_.end_part(span_.phase, span_.end);
    recorder_.add(span_);
  }
  void set_bytes(std::int64_t bytes) noexcept { span_.bytes = bytes; }

 private:
  Recorder& recorder_;
  Span span_;
  std::optional<Accesses> accesses_;
};

/// A span as long as its lifetime, for listeners only. Without one, the clock is not read.
class Watched {
 public:
  /// `listener`: may be null.
  Watched(Listener* listener, Phase phase, std::int64_t operation = 0) noexcept
      : listener_(listener) {
    if (listener_ != nullptr) span_ = {operation, phase, 0, -1, Span::Clock::now(), {}};
  }
  Watched(const Watched&) = delete;
  ~Watched() {
    if (listener_ == nullptr) return;
    span_.end = Span::Clock::now();
    listener_->take(span_);
  }
  void moves(std::int64_t bytes, std::int64_t offset) noexcept {
    span_.bytes = bytes;
    span_.offset = offset;
  }
  /// Discards the span.
  void drop() noexcept { listener_ = nullptr; }

 private:
  Listener* listener_;
  Span span_;
};

/// The span of a call of the program. A call within another one of the same thread, as one that
/// opens a file to look into it, is a part of that one and has no span.
class WatchedCall {
 public:
  WatchedCall(Listener* listener, Phase phase) noexcept
      : outer_(within_), watched_(within_ ? nullptr : listener, phase) {
    within_ = within_ || listener != nullptr;
  }
  WatchedCall(const WatchedCall&) = delete;
  ~WatchedCall() { within_ = outer_; }

 private:
  static inline thread_local bool within_ = false;
  const bool outer_;
  Watched watched_;
};

}  // namespace penstock
