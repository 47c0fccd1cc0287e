// One queue by itself: no MPI, no file. The same program runs under a thread sanitizer.
#include "background/io_queue.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "background_gate.hpp"
#include "base/tally.hpp"

namespace penstock {
namespace {

using namespace std::chrono_literals;

struct IoQueueTest : testing::Test {
  ActiveBuffer memory;
  Throttling throttling;
  Ledger file;
  IoQueue queue{memory, throttling, IoQueue::Kind::device, 1min};

  IoTicket submit(std::function<void()> work, std::int64_t operation = 1, Extent extent = {0, 8}) {
    return submit_to(queue, std::move(work), operation, extent);
  }
  IoTicket submit_to(IoQueue& to, std::function<void()> work, std::int64_t operation = 1,
                     Extent extent = {0, 8}) {
    IoUnit unit;
    unit.extent = extent;
    unit.operation = operation;
    unit.work = std::move(work);
    return to.submit(file, std::move(unit));
  }
  void drain() { queue.drain(file, Ledger::Which::all); }
};

TEST_F(IoQueueTest, RunsUnitsInTheirOrder) {
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) submit([&order, i] { order.push_back(i); });
  drain();
  ASSERT_EQ(order.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

/// Units in two halves, and the order in which they ran: "b1" is the first half of unit 1.
struct IoQueueHalves : IoQueueTest {
  Gate gate;
  std::vector<std::string> order;

  IoTicket submit_halves(const std::string& name, std::int64_t operation, Extent extent,
                         bool fails = false) {
    IoUnit unit;
    unit.extent = extent;
    unit.operation = operation;
    unit.work = [this, name] { order.push_back("b" + name); };
    unit.finish = [this, name, fails] {
      order.push_back("e" + name);
      if (fails) throw Error("on purpose", "file", 0, EIO);
    };
    return queue.submit(file, std::move(unit));
  }
  void block_thread() {
    submit([this] { gate.pass(); }, 0);
  }
  void go() {
    gate.open();
    drain();
  }
};

TEST_F(IoQueueHalves, UnitsOfOneWriteAreUnderWayTogether) {
  block_thread();
  for (int i = 1; i <= 3; ++i) submit_halves(std::to_string(i), 1, {i * 8, i * 8 + 8});
  go();
  EXPECT_EQ(order, (std::vector<std::string>{"b1", "b2", "b3", "e1", "e2", "e3"}));
}

TEST_F(IoQueueHalves, AnotherWriteBeginsWhenTheOneBeforeHasEnded) {
  block_thread();
  submit_halves("1", 1, {0, 8});
  submit_halves("2", 1, {8, 16});
  submit_halves("3", 2, {16, 24});
  go();
  EXPECT_EQ(order, (std::vector<std::string>{"b1", "b2", "e1", "e2", "b3", "e3"}));
}

TEST_F(IoQueueHalves, BytesThatTwoUnitsWriteAreTheLaterOnes) {
  block_thread();
  submit_halves("1", 1, {0, 8});
  submit_halves("2", 1, {8, 16});
  submit_halves("3", 1, {7, 9});
  go();
  EXPECT_EQ(order, (std::vector<std::string>{"b1", "b2", "e1", "e2", "b3", "e3"}));
}

TEST_F(IoQueueHalves, AUnitInOnePieceHasTheStorageToItself) {
  block_thread();
  submit_halves("1", 1, {0, 8});
  submit([this] { order.push_back("whole"); }, 1, {8, 16});
  submit_halves("2", 1, {16, 24});
  go();
  EXPECT_EQ(order, (std::vector<std::string>{"b1", "e1", "whole", "b2", "e2"}));
}

TEST_F(IoQueueHalves, AFailureDropsWhatHasNotBegun) {
  block_thread();
  submit_halves("1", 1, {0, 8}, /*fails=*/true);
  submit_halves("2", 1, {8, 16});
  submit_halves("3", 2, {16, 24});
  const IoTicket last = submit_halves("4", 2, {24, 32});
  go();
  EXPECT_TRUE(queue.is_done(last));
  EXPECT_EQ(order, (std::vector<std::string>{"b1", "b2", "e1", "e2"}));
  const auto guard = queue.lock();
  EXPECT_TRUE(file.lost(nullptr, 1).has_value());
  EXPECT_TRUE(file.lost(nullptr, 2).has_value());
  EXPECT_TRUE(file.take_failure().has_value());
}

TEST_F(IoQueueHalves, UnitsOfTwoFilesEndOneAfterTheOther) {
  Ledger other;
  block_thread();
  submit_halves("1", 1, {0, 8});
  IoUnit unit;
  unit.extent = {8, 16};
  unit.operation = 1;
  unit.work = [this] { order.push_back("b2"); };
  unit.finish = [this] { order.push_back("e2"); };
  const IoTicket last = queue.submit(other, std::move(unit));
  gate.open();
  queue.wait(last);
  EXPECT_EQ(order, (std::vector<std::string>{"b1", "e1", "b2", "e2"}));
}

/// A queue of calls.
struct CallQueueTest : IoQueueTest {
  IoQueue calls{memory, throttling, IoQueue::Kind::calls, 1min};

  IoTicket submit_call(std::function<void()> work, std::function<void()> finish = nullptr) {
    IoUnit unit;
    unit.work = std::move(work);
    unit.finish = std::move(finish);
    return calls.submit(std::move(unit));
  }
};

TEST_F(CallQueueTest, UnitsInHalvesAreUnderWayTogetherAndOthersAlone) {
  std::vector<std::string> order;
  Gate gate;
  const auto note = [&](const char* what) { return [&order, what] { order.push_back(what); }; };
  submit_call([&] { gate.pass(); });
  submit_call(note("b1"), note("e1"));
  const IoTicket second = submit_call(note("b2"), note("e2"));
  submit_call(note("whole"));
  const IoTicket last = submit_call(note("b3"), note("e3"));
  EXPECT_FALSE(calls.is_done(second));
  gate.open();
  calls.wait(last);
  EXPECT_EQ(order, (std::vector<std::string>{"b1", "b2", "e1", "e2", "whole", "b3", "e3"}));
}

TEST_F(CallQueueTest, EndsAfterWhatIsUnderWay) {
  bool ended = false;
  {
    IoQueue brief(memory, throttling, IoQueue::Kind::calls, 1min);
    IoUnit unit;
    unit.work = [] {};
    unit.finish = [&] { ended = true; };
    brief.submit(std::move(unit));
  }
  EXPECT_TRUE(ended);
}

TEST_F(CallQueueTest, UnitsArePartsOfACall) {
  throttling.throttles = 1;
  bool counted_apart = true;
  Gate gate;
  submit_call([&] {
    gate.pass();
    counted_apart = in_background;
  });
  EXPECT_TRUE(memory.nothing_queued());  // whoever waits for room would wait for nothing
  gate.open();
  calls.drain();
  EXPECT_FALSE(counted_apart);
}

TEST_F(IoQueueTest, TenThousandUnitsInFlight) {
  Gate gate;
  submit([&] { gate.pass(); });
  std::atomic<int> done = 0;
  IoTicket last = 0;
  for (int i = 0; i < 10'000; ++i) {
    auto bytes = std::make_shared<ActiveBuffer::Memory>(memory.take(1 * KiB, 64 * MiB));
    std::memset(bytes->data(), i & 0xff, KiB);
    last = submit([&done, bytes, i] {
      if (bytes->data()[KiB - 1] == std::byte(i & 0xff)) ++done;
    });
  }
  EXPECT_FALSE(queue.is_done(last));
  gate.open();
  queue.wait(last);
  EXPECT_EQ(done, 10'000);
  EXPECT_EQ(memory.in_use(), 0);
  EXPECT_TRUE(memory.nothing_queued());
}

TEST_F(IoQueueTest, AfterAFailureNothingIsWrittenUntilItIsTaken) {
  std::vector<int> done;
  Gate gate;
  submit([&] { gate.pass(); });
  submit([&] { done.push_back(1); }, 1);
  submit([] { throw Error("writing 'file'", "file", 4096, ENOSPC); }, 2);
  submit([&] { done.push_back(3); }, 3);
  submit([&] { done.push_back(-3); }, 3, {});  // a read
  gate.open();
  drain();
  EXPECT_EQ(done, (std::vector<int>{1, -3}));
  {
    const auto guard = queue.lock();
    EXPECT_TRUE(file.take_failure());
  }
  submit([&] { done.push_back(4); }, 4);
  drain();
  EXPECT_EQ(done.back(), 4);
}

TEST_F(IoQueueTest, WhatIsNoErrorOfOursIsOneAllTheSame) {
  submit([] { throw std::bad_alloc(); });
  drain();
  const auto guard = queue.lock();
  EXPECT_EQ(file.take_failure()->error_class(), ErrorClass::internal);
}

TEST_F(IoQueueTest, AThreadWithoutUnitsEndsAndALaterUnitStartsAnother) {
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

TEST_F(IoQueueTest, UnitsThatComeWhileTheThreadEndsAreNotForgotten) {
  IoQueue brief(memory, throttling, IoQueue::Kind::device, 100us);
  std::atomic<int> done = 0;
  for (int i = 0; i < 300; ++i) {
    const IoTicket ticket = submit_to(brief, [&] { ++done; });
    std::this_thread::sleep_for(std::chrono::microseconds(90 + i % 20));
    if (i % 3 == 0) brief.wait(ticket);
  }
  brief.drain(file, Ledger::Which::all);
  EXPECT_EQ(done, 300);
}

TEST_F(IoQueueTest, FinishCarriesOutAllAndALaterUnitStartsAgain) {
  std::atomic<int> done = 0;
  for (int i = 0; i < 100; ++i) submit([&] { ++done; });
  queue.finish();
  EXPECT_EQ(done, 100);
  EXPECT_FALSE(queue.has_thread());
  submit([&] { ++done; });
  drain();
  EXPECT_EQ(done, 101);
}

/// Threads with larger stacks than there are addresses.
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

TEST_F(IoQueueTest, WithoutAThreadWhoSubmitsAUnitCarriesItOut) {
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

TEST_F(CallQueueTest, WithoutAThreadTheCallDoesTheWork) {
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

/// Which signals are blocked in the calling thread: a bit each.
std::uint64_t blocked_signals() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  std::uint64_t bits = 0;
  for (int signal = 1; signal < 32; ++signal)
    if (sigismember(&mask, signal) == 1) bits |= std::uint64_t{1} << signal;
  return bits;
}

TEST_F(IoQueueTest, SignalsAreTheProgramsWhetherAThreadStartsOrNot) {
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

TEST_F(IoQueueTest, IsThrottledWhileWritersCopyUnlessSomebodyWaits) {
  IoQueue throttled(memory, throttling, IoQueue::Kind::page_cache, 10ms);
  throttling.throttles = 1;
  const IoTicket first = submit_to(throttled, [] {});
  const IoTicket other = submit([] {});
  queue.wait(other);  // the other queue is not throttled
  std::this_thread::sleep_for(30ms);
  EXPECT_FALSE(throttled.is_done(first));
  EXPECT_TRUE(throttled.has_thread());  // throttled is not idle
  EXPECT_FALSE(throttled.is_expedited());
  throttled.wait(first);
  const IoTicket second = submit_to(throttled, [] {});
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(throttled.is_done(second));
  throttling.throttles = 0;
  throttled.wake();
  for (int i = 0; i < 500 && !throttled.is_done(second); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(throttled.is_done(second));
}

TEST_F(IoQueueTest, AThrottledThreadIsWokenByWhoWaits) {
  IoQueue throttled(memory, throttling, IoQueue::Kind::page_cache, 1h);
  throttling.throttles = 1;
  const IoTicket ticket = submit_to(throttled, [] {});
  std::this_thread::sleep_for(20ms);  // it sleeps by now
  auto waiter = std::async(std::launch::async, [&] { throttled.wait(ticket); });
  EXPECT_EQ(waiter.wait_for(20s), std::future_status::ready);
  throttling.throttles = 0;
  throttled.wake();
}

TEST_F(IoQueueTest, WhoWaitsForUnitsOfAnyQueueHasNoneThrottled) {
  IoQueue throttled(memory, throttling, IoQueue::Kind::page_cache, 1min);
  throttling.throttles = 1;
  const IoTicket ticket = submit_to(throttled, [] {});
  throttling.expedites = 1;
  throttled.wake();
  for (int i = 0; i < 500 && !throttled.is_done(ticket); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(throttled.is_done(ticket));
  EXPECT_TRUE(throttled.is_expedited());
}

TEST_F(IoQueueTest, PlacementOfTheThread) {
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
