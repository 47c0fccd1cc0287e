#include "mpi/bell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mpi/wait.hpp"

namespace penstock {
namespace {

/// About 10 microseconds: what going to sleep and being woken costs.
constexpr int patience = 400;

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

// Sequentially consistent on both sides: either the ringer sees the sleeper, or the sleeper sees
// that the bell has rung.
void Bell::ring() noexcept {
  rings_.fetch_add(1, std::memory_order_seq_cst);
  // Between processes: not the PRIVATE kind.
  if (asleep_.load(std::memory_order_seq_cst) != 0)
    ::syscall(SYS_futex, &rings_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void Bell::sleep(std::uint32_t heard_before, Wait& wait, bool messages, bool spins) {
  for (int i = 0; spins && i < patience; ++i, pause())
    if (heard() != heard_before) return;
  asleep_.store(1, std::memory_order_seq_cst);
  if (rings_.load(std::memory_order_seq_cst) == heard_before)
    wait.on(rings_, heard_before, messages);
  asleep_.store(0, std::memory_order_relaxed);
}

}  // namespace penstock
