// Wait: one wait for other ranks. Nothing in this library waits for another rank in any other way.
//
//   1. A rank that waits leaves its core to others: it yields for a tenth of a second, since ranks
//      that take part are there by then, and sleeps after that, up to a millisecond at a time.
//   2. It calls MPI now and then even where it waits for shared memory: what a library has
//      taken from MPI_Isend may leave only within later calls (MPICH over TCP), and the rank that
//      is waited for may be waiting for that.
//   3. After PENSTOCK_PATIENCE seconds (10 unless set; 0: never) it says once on stderr which ranks
//      are in which call of which file, and which are not there yet; or, where all are, which rank
//      is in one access to storage for so long. With PENSTOCK_PATIENCE=SECONDS,error it
//      then throws Error(state) where ranks meet, and elsewhere ends the program.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace penstock {

/// What the process goes on with wherever one of its threads waits in this library, since other
/// ranks may be waiting for that. It must not wait itself; whether anything is under way.
using Meanwhile = bool (*)();
void set_meanwhile(Meanwhile meanwhile) noexcept;

class Wait {
 public:
  /// Where PENSTOCK_PATIENCE asks for an error: `throws` Error(state), or `aborts` the program
  /// where what is under way cannot be left.
  enum class OutOfPatience { throws, aborts };

  explicit Wait(OutOfPatience then = OutOfPatience::aborts) noexcept
      : begin_(Clock::now()), then_(then) {}
  void may_throw(bool may) noexcept { then_ = may ? OutOfPatience::throws : OutOfPatience::aborts; }
  Wait(const Wait&) = delete;
  ~Wait();

  /// Something has happened that one waits for: from here on it is another wait.
  void restart() noexcept;
  /// Gives the core away for a while. For what MPI does: the caller tests it.
  void poll();
  /// Sleeps until `word` is not `value` or a while has passed. Returning early is always allowed.
  /// `messages`: some of this rank's are under way, so that the while is short.
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
  bool told_ = false;
  bool storage_told_ = false;
  int tests_ = 0;
};

}  // namespace penstock
