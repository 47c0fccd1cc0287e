#include "mpi/team.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "mpi/communicator.hpp"

namespace penstock {
namespace {

using Word = std::atomic<std::uint32_t>;
static_assert(Word::is_always_lock_free, "shared between processes");

/// Futexes between processes: not the PRIVATE kind. Returning early is always allowed.
void futex_wait(Word& word, std::uint32_t value) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, nullptr, nullptr, 0);
}
void futex_wait_a_little(Word& word, std::uint32_t value) noexcept {
  const timespec millisecond{0, 1'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &millisecond, nullptr, 0);
}
void futex_wake(Word& word, int count) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

/// About 10 microseconds: what going to sleep and being woken costs.
constexpr int patience = 400;

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

std::atomic<std::int64_t> meetings_so_far{0};

}  // namespace

std::byte* Team::result() noexcept {
  return common_->result;
}

std::int64_t Team::meetings() noexcept {
  return meetings_so_far.load(std::memory_order_relaxed);
}

void Team::count_meeting() noexcept {
  meetings_so_far.fetch_add(1, std::memory_order_relaxed);
}

std::uint32_t Team::this_meeting() const noexcept {
  return common_->meeting.load(std::memory_order_acquire);
}

/// True on the one rank that does the work, once all are here.
bool Team::arrive() {
  const auto everybody = static_cast<std::uint32_t>(size_);
  const bool last = common_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == everybody;
  if (nodes_ == 1) return last;
  if (rank_ != 0) {
    if (last) futex_wake(common_->arrived, 1);
    return false;
  }
  for (Wait wait(Wait::OutOfPatience::throws);;) {
    const std::uint32_t here = common_->arrived.load(std::memory_order_acquire);
    if (here == everybody) return true;
    if (gone() >= 0) return false;
    wait.on(common_->arrived, here);
  }
}

void Team::dismiss(std::uint32_t meeting) noexcept {
  common_->arrived.store(0, std::memory_order_relaxed);
  common_->meeting.store(meeting + 1, std::memory_order_release);
  if (size_ > 1) futex_wake(common_->meeting, INT_MAX);
}

bool Team::await(std::uint32_t meeting) {
  for (int i = 0; !crowded_ && i < patience; ++i, pause())
    if (this_meeting() != meeting) return true;
  for (Wait wait(Wait::OutOfPatience::throws); this_meeting() == meeting;) {
    if (gone() >= 0) return this_meeting() != meeting;
    wait.on(common_->meeting, meeting);
  }
  return true;
}

void Team::leave(int comm_rank) noexcept {
  std::uint32_t nobody = 0;
  common_->gone.compare_exchange_strong(nobody, static_cast<std::uint32_t>(comm_rank) + 1);
  futex_wake(common_->arrived, INT_MAX);
  futex_wake(common_->meeting, INT_MAX);
}

int Team::gone() const noexcept {
  return static_cast<int>(common_->gone.load(std::memory_order_acquire)) - 1;
}

std::uint32_t Team::heard() const noexcept {
  return desks_[rank_].bell.load(std::memory_order_acquire);
}

// Sequentially consistent on both sides: either the ringer sees the sleeper, or the sleeper sees
// that the bell has rung.
void Team::ring(int place) noexcept {
  Desk& desk = desks_[place];
  desk.bell.fetch_add(1, std::memory_order_seq_cst);
  if (desk.asleep.load(std::memory_order_seq_cst) != 0) futex_wake(desk.bell, 1);
}

void Team::sleep(std::uint32_t heard_before, Wait& wait, bool messages) {
  for (int i = 0; !crowded_ && i < patience; ++i, pause())
    if (heard() != heard_before) return;
  Desk& desk = own_desk();
  desk.asleep.store(1, std::memory_order_seq_cst);
  if (desk.bell.load(std::memory_order_seq_cst) == heard_before)
    wait.on(desk.bell, heard_before, messages);
  desk.asleep.store(0, std::memory_order_relaxed);
}

namespace {
bool permit_taken(Word& out, int most) noexcept {
  std::uint32_t now = out.load(std::memory_order_seq_cst);
  while (now < static_cast<std::uint32_t>(most))
    if (out.compare_exchange_weak(now, now + 1, std::memory_order_seq_cst)) return true;
  return false;
}
}  // namespace

void Team::begin_copying() noexcept {
  common_->copying.fetch_add(1, std::memory_order_seq_cst);
}

void Team::end_copying() noexcept {
  if (common_->copying.fetch_sub(1, std::memory_order_seq_cst) == 1)
    futex_wake(common_->copying, INT_MAX);
}

bool Team::await_end_of_copying() noexcept {
  const std::uint32_t ranks = common_->copying.load(std::memory_order_seq_cst);
  if (ranks == 0) return true;
  futex_wait_a_little(common_->copying, ranks);
  return common_->copying.load(std::memory_order_seq_cst) == 0;
}

bool Team::try_permit(int most) noexcept {
  if (permit_taken(common_->permits_out, most)) return true;
  // Say so first, then look again: who returned one meanwhile may not have seen the wish.
  own_desk().wants_permit.store(1, std::memory_order_seq_cst);
  return permit_taken(common_->permits_out, most);
}

void Team::take_permit(int most) noexcept {
  while (!permit_taken(common_->permits_out, most)) {
    const std::uint32_t now = common_->permits_out.load(std::memory_order_seq_cst);
    common_->waiting.fetch_add(1, std::memory_order_seq_cst);
    if (now >= static_cast<std::uint32_t>(most)) futex_wait(common_->permits_out, now);
    common_->waiting.fetch_sub(1, std::memory_order_seq_cst);
  }
}

void Team::return_permit() noexcept {
  common_->permits_out.fetch_sub(1, std::memory_order_seq_cst);
  if (common_->waiting.load(std::memory_order_seq_cst) != 0) futex_wake(common_->permits_out, 1);
  for (int place = 0; place < size_; ++place)
    if (desks_[place].wants_permit.load(std::memory_order_seq_cst) != 0) {
      desks_[place].wants_permit.store(0, std::memory_order_seq_cst);
      if (place != rank_) ring(place);
    }
}

}  // namespace penstock
