// A single queue: no MPI, no file. The same program runs under a thread sanitizer.
#include "background/io_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "background_gate.hpp"
#include "base/tally.hpp"
#include "io_queue_support.hpp"

namespace penstock {
namespace {

using namespace std::chrono_literals;

TEST_F(IoQueueTest, RunsUnitsInTheirOrder) {
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) submit([&order, i] { order.push_back(i); });
  drain();
  ASSERT_EQ(order.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

/// Units with `work` and `finish`, and the order in which they ran: "b1" is the beginning of unit
/// 1.
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
  UnitRecord other;
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
  EXPECT_TRUE(memory.nothing_queued());  // a writer that waits for room would wait for ever
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
  std::this_thread::sleep_for(20ms);  // asleep by now
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

}  // namespace
}  // namespace penstock
