#include "mpi/team.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

#include "mpi/whereabouts.hpp"

namespace penstock {
namespace {

using Word = std::atomic<std::uint32_t>;
static_assert(Word::is_always_lock_free, "shared between processes");

/// Futexes between processes: not the PRIVATE kind. Spurious returns are allowed. False: timeout.
bool futex_wait(Word& word, std::uint32_t value, int milliseconds) noexcept {
  const timespec limit{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  return ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0) == 0 ||
         errno != ETIMEDOUT;
}
void futex_wake(Word& word, int count) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

std::atomic<std::int64_t> meetings_so_far{0};

}  // namespace

std::byte* Team::result(int slot) noexcept {
  return common_->slots[slot].result;
}

std::int64_t Team::meetings() noexcept {
  return meetings_so_far.load(std::memory_order_relaxed);
}

/// The rank that does the meeting's work sleeps until all are here, so the last one to arrive wakes
/// it.
Team::Meeting Team::arrive(int slot) noexcept {
  meetings_so_far.fetch_add(1, std::memory_order_relaxed);
  MeetingSlot& here = common_->slots[slot];
  const std::uint32_t number = here.meetings.load(std::memory_order_acquire);
  const auto everybody = static_cast<std::uint32_t>(size_);
  const bool last = here.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == everybody;
  const bool works = nodes_ == 1 ? last : leads();
  if (last && !works) notify(0);
  return {slot, number, works};
}

bool Team::all_here(const Meeting& meeting) const noexcept {
  return common_->slots[meeting.slot].arrived.load(std::memory_order_acquire) ==
         static_cast<std::uint32_t>(size_);
}

bool Team::is_over(const Meeting& meeting) const noexcept {
  return common_->slots[meeting.slot].meetings.load(std::memory_order_acquire) != meeting.number;
}

void Team::dismiss(const Meeting& meeting) noexcept {
  MeetingSlot& here = common_->slots[meeting.slot];
  here.arrived.store(0, std::memory_order_relaxed);
  here.meetings.store(meeting.number + 1, std::memory_order_release);
  for (int local_rank = 0; local_rank < size_; ++local_rank)
    if (local_rank != rank_) notify(local_rank);
}

Task<bool> Team::meet(int slot) {
  co_return co_await meet(slot, []() -> Task<> { co_return; });
}

void Team::leave(int comm_rank) noexcept {
  std::uint32_t nobody = 0;
  common_->gone.compare_exchange_strong(nobody, static_cast<std::uint32_t>(comm_rank) + 1);
  for (int local_rank = 0; local_rank < size_; ++local_rank)
    if (local_rank != rank_) notify(local_rank);
}

int Team::gone() const noexcept {
  return static_cast<int>(common_->gone.load(std::memory_order_acquire)) - 1;
}

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
  futex_wait(common_->copying, ranks, 1);
  return common_->copying.load(std::memory_order_seq_cst) == 0;
}

bool Team::permit_taken(int most) noexcept {
  Word& out = common_->permits_out;
  std::uint32_t now = out.load(std::memory_order_seq_cst);
  while (now < static_cast<std::uint32_t>(most))
    if (out.compare_exchange_weak(now, now + 1, std::memory_order_seq_cst)) {
      own_mailbox().permits.fetch_add(1);
      return true;
    }
  return false;
}

bool Team::try_permit(int most) noexcept {
  if (permit_taken(most)) return true;
  // First the flag, then another try: a rank that returned a permit before the flag was set does
  // not wake this one.
  own_mailbox().wants_permit.store(1, std::memory_order_seq_cst);
  return permit_taken(most);
}

void Team::take_permit(int most) noexcept {
  constexpr int milliseconds_between_looks = 200;
  const auto begin = std::chrono::steady_clock::now();
  bool reported = false;
  while (!permit_taken(most)) {
    const std::uint32_t now = common_->permits_out.load(std::memory_order_seq_cst);
    common_->waiting.fetch_add(1, std::memory_order_seq_cst);
    const bool rung = now < static_cast<std::uint32_t>(most) ||
                      futex_wait(common_->permits_out, now, milliseconds_between_looks);
    common_->waiting.fetch_sub(1, std::memory_order_seq_cst);
    if (rung) continue;
    take_back_permits();
    if (!reported)
      reported = report_permit_holders(*this, most, std::chrono::steady_clock::now() - begin);
  }
}

void Team::return_permit() noexcept {
  own_mailbox().permits.fetch_sub(1);
  give_permits_back(1);
}

void Team::give_permits_back(int count) noexcept {
  common_->permits_out.fetch_sub(static_cast<std::uint32_t>(count), std::memory_order_seq_cst);
  if (common_->waiting.load(std::memory_order_seq_cst) != 0)
    futex_wake(common_->permits_out, count);
  for (int local_rank = 0; local_rank < size_; ++local_rank)
    if (mailboxes_[local_rank].wants_permit.load(std::memory_order_seq_cst) != 0) {
      mailboxes_[local_rank].wants_permit.store(0, std::memory_order_seq_cst);
      if (local_rank != rank_) notify(local_rank);
    }
}

/// From processes that have ended: nobody else would return them.
void Team::take_back_permits() noexcept {
  for (int local_rank = 0; local_rank < size_; ++local_rank) {
    Mailbox& theirs = mailbox(local_rank);
    if (theirs.permits.load() == 0 || !has_ended(theirs.process)) continue;
    if (const int left = theirs.permits.exchange(0); left > 0) give_permits_back(left);
  }
}

}  // namespace penstock
