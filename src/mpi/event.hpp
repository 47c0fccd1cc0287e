// Event: what a rank sleeps on, a futex. Other ranks of its node and its own threads notify it of
// anything that the rank may wait for, so one wait covers any number of conditions. Zeroed memory
// is a valid initial state, also when shared between processes.
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock {

class Wait;

class Event {
 public:
  std::uint32_t notifications() const noexcept {
    return notifications_.load(std::memory_order_acquire);
  }
  void notify() noexcept;
  /// Returns once there were more notifications than `seen`, or after a while: the caller then
  /// checks its condition. `messages`: messages of this rank are awaited too, so MPI is called in
  /// between. `spins`: ranks do not outnumber cores, so it spins some microseconds first.
  void sleep(std::uint32_t seen, Wait& wait, bool messages, bool spins);

 private:
  std::atomic<std::uint32_t> notifications_, asleep_;
};

}  // namespace penstock
