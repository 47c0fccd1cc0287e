// Bell: what a rank sleeps on. Whoever does something that a rank may wait for rings its bell:
// other ranks of its node, and its own threads. So one wait covers any number of conditions. Zeroed
// memory is a bell, also one that processes share.
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock {

class Wait;

class Bell {
 public:
  std::uint32_t heard() const noexcept { return rings_.load(std::memory_order_acquire); }
  void ring() noexcept;
  /// Returns once it has rung more often than `heard`, or after a while: the caller looks whether
  /// what it waits for is there. `messages`: messages of this rank are awaited too, so that MPI is
  /// called in between. `spins`: ranks do not outnumber cores, so it spins some microseconds first.
  void sleep(std::uint32_t heard, Wait& wait, bool messages, bool spins);

 private:
  std::atomic<std::uint32_t> rings_, asleep_;
};

}  // namespace penstock
