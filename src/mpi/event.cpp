#include "mpi/event.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mpi/wait.hpp"

namespace penstock {
namespace {

/// About 10 microseconds: the cost of going to sleep and being woken.
constexpr int patience = 400;

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

// Sequentially consistent on both sides: either the notifier sees the sleeper, or the sleeper sees
// the notification.
void Event::notify() noexcept {
  notifications_.fetch_add(1, std::memory_order_seq_cst);
  // Between processes: not the PRIVATE kind.
  if (asleep_.load(std::memory_order_seq_cst) != 0)
    ::syscall(SYS_futex, &notifications_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void Event::sleep(std::uint32_t seen, Wait& wait, bool messages, bool spins) {
  for (int i = 0; spins && i < patience; ++i, pause())
    if (notifications() != seen) return;
  asleep_.store(1, std::memory_order_seq_cst);
  if (notifications_.load(std::memory_order_seq_cst) == seen)
    wait.on(notifications_, seen, messages);
  asleep_.store(0, std::memory_order_relaxed);
}

}  // namespace penstock
