// Wait: one wait for other ranks. All waits for other ranks in this library use it.
//
//   1. A waiting rank leaves its core to others: it yields for a tenth of a second, since ranks
//      that take part usually arrive within that, and then sleeps, up to a millisecond at a time.
//   2. It calls MPI now and then even if it waits for shared memory: a library may send what
//      MPI_Isend has buffered only within later calls (MPICH over TCP), and the awaited rank may be
//      waiting for that.
//   3. After PENSTOCK_PATIENCE seconds (10 unless set; 0: never) it reports once on stderr which
//      ranks are in which call of which file, and which are missing; or, if none is missing, which
//      rank has been in one storage access for so long. With PENSTOCK_PATIENCE=SECONDS,error it
//      then throws Error(state) in an agreement, and elsewhere ends the program.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace penstock {

/// Work of the process that progresses whenever one of its threads waits in this library, since
/// other ranks may depend on it. Must not wait itself; returns whether any is in flight.
using Meanwhile = bool (*)();
void set_meanwhile(Meanwhile meanwhile) noexcept;

class Wait {
 public:
  /// If PENSTOCK_PATIENCE asks for an error: `throws` Error(state), or `aborts` the program if an
  /// exchange cannot be abandoned.
  enum class OutOfPatience { throws, aborts };

  explicit Wait(OutOfPatience then = OutOfPatience::aborts) noexcept
      : begin_(Clock::now()), then_(then) {}
  void may_throw(bool may) noexcept { then_ = may ? OutOfPatience::throws : OutOfPatience::aborts; }
  Wait(const Wait&) = delete;
  ~Wait();

  /// Something that was awaited has happened: the time starts again.
  void restart() noexcept;
  /// Yields the core for a while. For MPI requests: the caller tests them.
  void poll();
  /// Sleeps until `word` is not `value` or some time has passed. Spurious returns are allowed.
  /// `messages`: some of this rank's are in flight, so the time is short.
  void on(std::atomic<std::uint32_t>& word, std::uint32_t value, bool messages = false);

 private:
  using Clock = std::chrono::steady_clock;
  using Nanoseconds = std::chrono::nanoseconds;

  Nanoseconds elapsed() const noexcept { return Clock::now() - begin_; }
  void look_around(Nanoseconds waited);

  Clock::time_point begin_;
  OutOfPatience then_;
  static constexpr Nanoseconds first_look = std::chrono::milliseconds(200);
  Nanoseconds next_look_ = first_look;
  bool shown_ = false;  // this rank's mailbox says that it waits
  bool reported_ = false;
  bool storage_reported_ = false;
  int tests_ = 0;
};

}  // namespace penstock
