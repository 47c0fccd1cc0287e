// Recorder: the one account of what happens. Each phase of a call, on whatever thread, is a span
// that is given to a recorder; Statistics are their sum, and what listens gets each of them. Where
// nobody listens a span costs two looks at the clock.
//
// Operations that are in flight together have a recorder each, and so have units of the background.
#pragma once

#include <penstock/statistics.hpp>

#include <chrono>
#include <cstdint>

namespace penstock {

/// What the time of a span went into. They nest: what is waited for within an exchange is part of
/// both.
enum class Phase {
  operation,  // all of one, from its begin to its end
  plan,       // agreeing on it, too
  exchange,   // by messages
  copy,
  storage,
  wait,  // for other ranks or I/O threads
  room,  // for memory of the active buffer
};

struct Span {
  using Clock = std::chrono::steady_clock;

  std::int64_t operation = 0;  // the call that began it
  Phase phase = Phase::operation;
  std::int64_t bytes = 0;
  std::int64_t offset = -1;  // in the file, of the first; -1: not known
  Clock::time_point begin, end;

  double seconds() const noexcept { return std::chrono::duration<double>(end - begin).count(); }
};

/// Gets the spans of all threads of a process, each when it has ended.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void take(const Span& span) noexcept = 0;
};

class Recorder {
 public:
  explicit Recorder(std::int64_t operation = 0, Listener* listener = nullptr) noexcept
      : operation_(operation), listener_(listener) {}
  /// The same operation, another account of it: for another thread.
  Recorder another() const noexcept { return Recorder(operation_, listener_); }

  Statistics counts;

  void add(Span span) noexcept;

 private:
  std::int64_t operation_;
  Listener* listener_;
};

/// The span of its life. Bytes and offset may be given later.
class Timed {
 public:
  Timed(Recorder& recorder, Phase phase, std::int64_t bytes = 0, std::int64_t offset = -1) noexcept
      : recorder_(recorder), span_{0, phase, bytes, offset, Span::Clock::now(), {}} {}
  Timed(const Timed&) = delete;
  ~Timed() {
    span_.end = Span::Clock::now();
    recorder_.add(span_);
  }

 private:
  Recorder& recorder_;
  Span span_;
};

}  // namespace penstock
