#include "mpi/wait.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <thread>

#include "mpi/communicator.hpp"
#include "mpi/whereabouts.hpp"

namespace penstock {
namespace {

using namespace std::chrono_literals;

/// Ranks in the same call usually arrive within this time, and a sleep would delay all.
constexpr std::chrono::nanoseconds yielding = 100ms;
/// A non-blocking MPI collective advances by one step per call, and needs several once a message
/// has arrived: make so many calls before the next sleep.
constexpr int tests_between_sleeps = 8;
constexpr std::chrono::nanoseconds shortest_sleep = 50us, longest_sleep = 1ms;
/// Within one node the other ranks seldom depend on this rank's MPI calls.
constexpr std::chrono::nanoseconds longest_sleep_in_node = 10ms;

/// False: timeout.
bool wait_on_futex(std::atomic<std::uint32_t>& word, std::uint32_t value,
                   std::chrono::nanoseconds most) noexcept {
  const timespec limit{0, most.count()};
  // Between processes: not the PRIVATE kind.
  return ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0) == 0 ||
         errno != ETIMEDOUT;
}

/// The longer a wait has taken, the longer each sleep may be: it delays the wait by about 1/256.
std::chrono::nanoseconds sleep_after(std::chrono::nanoseconds waited) noexcept {
  return std::clamp(waited / 256, shortest_sleep, longest_sleep);
}

std::atomic<Meanwhile> the_meanwhile{nullptr};

/// A resumed task may come to a wait that ends at once, and would resume everything again.
bool resume_meanwhile() {
  static thread_local bool inside = false;
  const Meanwhile meanwhile = the_meanwhile.load(std::memory_order_acquire);
  if (meanwhile == nullptr || inside) return false;
  inside = true;
  const bool under_way = meanwhile();
  inside = false;
  return under_way;
}

}  // namespace

void set_meanwhile(Meanwhile meanwhile) noexcept {
  the_meanwhile.store(meanwhile, std::memory_order_release);
}

Wait::~Wait() {
  if (shown_) show_waiting(false);
}

void Wait::restart() noexcept {
  if (shown_) show_waiting(false);
  shown_ = reported_ = storage_reported_ = false;
  next_look_ = first_look;
  begin_ = Clock::now();
}

void Wait::poll() {
  resume_meanwhile();
  const Nanoseconds waited = elapsed();
  if (waited < yielding) return std::this_thread::yield();
  look_around(waited);
  if (++tests_ % tests_between_sleeps != 0) return std::this_thread::yield();
  std::this_thread::sleep_for(sleep_after(waited));
}

void Wait::on(std::atomic<std::uint32_t>& word, std::uint32_t value, bool messages) {
  messages = resume_meanwhile() || messages;
  const InCall* const call = InCall::current();
  const Team* const team = call != nullptr ? call->comm().team() : nullptr;
  const bool alone = team != nullptr && team->nodes() == 1 && !messages;
  const Nanoseconds waited = elapsed();
  if (messages && waited < yielding) return std::this_thread::yield();
  look_around(waited);
  const Nanoseconds most = messages ? sleep_after(waited)
                           : alone  ? longest_sleep_in_node
                                    : longest_sleep;
  if (!wait_on_futex(word, value, most) && call != nullptr && !messages) call->comm().let_work();
}

void Wait::look_around(Nanoseconds waited) {
  if (waited < next_look_) return;
  next_look_ = waited + 200ms;
  if (!shown_) show_waiting(true);
  shown_ = true;
  const Patience& patience = Patience::get();
  if (patience.limit == 0s || waited < patience.limit) return;
  if (!reported_) {
    const WaitsFor what = report_whereabouts(waited, storage_reported_);
    reported_ = what == WaitsFor::ranks;
    storage_reported_ = storage_reported_ || what == WaitsFor::slow_storage;
  }
  if (reported_ && patience.raises) give_up(waited, then_ == OutOfPatience::throws);
}

}  // namespace penstock
