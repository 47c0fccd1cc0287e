// The thread of a queue: when it exists, what replaces it if it cannot be started, its signals and
// placement. The same program runs under a thread sanitizer.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <thread>

#include "background_gate.hpp"
#include "base/tally.hpp"
#include "io_queue_support.hpp"

namespace penstock {
namespace {

using namespace std::chrono_literals;

struct IoThreadTest : CallQueueTest {};

TEST_F(IoThreadTest, AThreadWithoutUnitsEndsAndALaterUnitStartsAnother) {
  IoQueue brief(memory, throttling, IoQueue::Kind::device, 10ms);
  EXPECT_FALSE(brief.has_thread());
  for (int turn = 0; turn < 3; ++turn) {
    Gate gate;
    const IoTicket ticket = submit_to(brief, [&] { gate.pass(); });
    EXPECT_TRUE(brief.has_thread());
    std::this_thread::sleep_for(30ms);
    EXPECT_TRUE(brief.has_thread());  // at work, not idle
    gate.open();
    brief.wait(ticket);
    for (int i = 0; i < 500 && brief.has_thread(); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_FALSE(brief.has_thread());
  }
}

TEST_F(IoThreadTest, UnitsThatComeWhileTheThreadEndsAreNotForgotten) {
  IoQueue brief(memory, throttling, IoQueue::Kind::device, 100us);
  std::atomic<int> done = 0;
  for (int i = 0; i < 300; ++i) {
    const IoTicket ticket = submit_to(brief, [&] { ++done; });
    std::this_thread::sleep_for(std::chrono::microseconds(90 + i % 20));
    if (i % 3 == 0) brief.wait(ticket);
  }
  brief.drain(file, UnitRecord::Which::all);
  EXPECT_EQ(done, 300);
}

TEST_F(IoThreadTest, FinishCarriesOutAllAndALaterUnitStartsAgain) {
  std::atomic<int> done = 0;
  for (int i = 0; i < 100; ++i) submit([&] { ++done; });
  queue.finish();
  EXPECT_EQ(done, 100);
  EXPECT_FALSE(queue.has_thread());
  submit([&] { ++done; });
  drain();
  EXPECT_EQ(done, 101);
}

/// Gives threads larger stacks than there are addresses.
class NoThreads {
 public:
  NoThreads() {
    pthread_attr_init(&before_);
    pthread_getattr_default_np(&before_);
    pthread_attr_t none;
    pthread_attr_init(&none);
    pthread_attr_setstacksize(&none, std::size_t{1} << 50);
    pthread_setattr_default_np(&none);
    pthread_attr_destroy(&none);
  }
  NoThreads(const NoThreads&) = delete;
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_;
};

TEST_F(IoThreadTest, WithoutAThreadWhoSubmitsAUnitCarriesItOut) {
  {
    const NoThreads none;
    std::thread::id by;
    const IoTicket ticket = submit([&] { by = std::this_thread::get_id(); }, 1);
    EXPECT_TRUE(queue.is_done(ticket));
    EXPECT_EQ(by, std::this_thread::get_id());
    submit([] { throw Error("writing 'file'", "file", 4096, ENOSPC); }, 2);
    bool written = false;
    submit([&] { written = true; }, 3);
    EXPECT_FALSE(written);
    EXPECT_FALSE(queue.has_thread());
    EXPECT_TRUE(memory.nothing_queued());
  }
  const auto guard = queue.lock();
  EXPECT_EQ(file.take_failure()->error_number(), ENOSPC);
}

TEST_F(IoThreadTest, WithoutAThreadTheCallDoesTheWork) {
  const NoThreads none;
  std::thread::id by;
  bool counted_apart = true, ended = false;
  const IoTicket ticket = submit_call(
      [&] {
        by = std::this_thread::get_id();
        counted_apart = in_background;
      },
      [&] { ended = true; });
  EXPECT_TRUE(calls.is_done(ticket));
  EXPECT_EQ(by, std::this_thread::get_id());
  EXPECT_FALSE(counted_apart);
  EXPECT_TRUE(ended);
}

/// The signals blocked in the calling thread, as a bit mask.
std::uint64_t blocked_signals() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  std::uint64_t bits = 0;
  for (int signal = 1; signal < 32; ++signal)
    if (sigismember(&mask, signal) == 1) bits |= std::uint64_t{1} << signal;
  return bits;
}

TEST_F(IoThreadTest, SignalsAreTheProgramsWhetherAThreadStartsOrNot) {
  const std::uint64_t before = blocked_signals();
  ASSERT_EQ(before >> SIGTERM & 1, 0u);
  std::uint64_t there = 0;
  const auto look = [&] { there = blocked_signals(); };
  {
    const NoThreads none;
    submit(look);
    EXPECT_EQ(there, before);
    EXPECT_EQ(blocked_signals(), before);
  }
  submit(look);
  drain();
  EXPECT_EQ(there >> SIGTERM & 1, 1u);
  EXPECT_EQ(blocked_signals(), before);
}

TEST_F(IoThreadTest, PlacementOfTheThread) {
  int policy = -1, core = -1;
  IoUnit unit;
  unit.placement.policy = SCHED_BATCH;
  unit.placement.core = 0;
  unit.work = [&] {
    policy = ::sched_getscheduler(0);
    core = ::sched_getcpu();
  };
  queue.wait(queue.submit(file, std::move(unit)));
  EXPECT_EQ(policy, SCHED_BATCH);
  EXPECT_EQ(core, 0);
}

}  // namespace
}  // namespace penstock
