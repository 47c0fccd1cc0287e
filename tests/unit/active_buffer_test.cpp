// The active buffer's memory. The same program runs under a thread sanitizer.
#include "background/active_buffer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "background_gate.hpp"

namespace penstock {
namespace {

using namespace std::chrono_literals;
using Memory = ActiveBuffer::Memory;

TEST(ActiveBuffer, BudgetMayChangeFromTakeToTake) {
  ActiveBuffer buffer;
  const Memory memory = buffer.take(3 * MiB, 4 * MiB);
  EXPECT_FALSE(buffer.try_take(3 * MiB, 4 * MiB));
  const Memory more = buffer.try_take(3 * MiB, 8 * MiB);
  EXPECT_TRUE(more);
  EXPECT_FALSE(buffer.has_room(1, 2 * MiB));
}

TEST(ActiveBuffer, PeakCountsFromItsRestart) {
  ActiveBuffer buffer;
  Memory memory = buffer.take(3 * MiB, 4 * MiB);
  const Memory small = buffer.take(64, 4 * MiB);
  memory.release();
  EXPECT_EQ(buffer.in_use(), 64);
  EXPECT_EQ(buffer.peak(), 3 * MiB + 64);
  buffer.restart_peak();
  EXPECT_EQ(buffer.peak(), 64);
}

TEST(ActiveBuffer, WhatIsGivenBackJoinsWhatIsFreeBesideIt) {
  for (const bool forwards : {true, false}) {
    ActiveBuffer buffer;
    Memory first = buffer.take(MiB, 8 * MiB), second = buffer.take(MiB, 8 * MiB);
    const Memory last = buffer.take(MiB, 8 * MiB);
    const std::byte* const begin = first.data();
    (forwards ? first : second).release();
    (forwards ? second : first).release();
    EXPECT_EQ(buffer.take(2 * MiB, 8 * MiB).data(), begin);
  }
}

TEST(ActiveBuffer, WhereNothingIsQueuedThereIsNothingToWaitFor) {
  ActiveBuffer buffer;
  const Memory kept = buffer.take(8 * KiB, 8 * KiB);
  const Memory large = buffer.take(1 * MiB, 8 * KiB);
  EXPECT_EQ(large.size(), 1 * MiB);
  EXPECT_EQ(buffer.in_use(), 1 * MiB + 8 * KiB);
}

TEST(ActiveBuffer, WaitsForRoomAsLongAsAUnitMayMakeSome) {
  ActiveBuffer buffer;
  Memory first = buffer.take(4 * MiB, 8 * MiB);
  const Memory second = buffer.take(4 * MiB, 8 * MiB);
  buffer.unit_queued();
  buffer.unit_queued();
  std::atomic<bool> taken = false;
  std::jthread taker([&] {
    const Memory third = buffer.take(4 * MiB, 8 * MiB);
    taken = true;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(taken);
  first.release();  // before its unit ends, and the other has not begun
  taker.join();
  EXPECT_EQ(buffer.peak(), 8 * MiB);
  buffer.unit_ended();
  EXPECT_FALSE(buffer.nothing_queued());
  buffer.unit_ended();
  EXPECT_TRUE(buffer.nothing_queued());
}

TEST(ActiveBuffer, WhoWaitsPassesWithTheLastUnitOfAnyQueue) {
  ActiveBuffer buffer;
  const Memory kept = buffer.take(8 * KiB, 8 * KiB);  // not part of a unit: never returned
  buffer.unit_queued();
  std::jthread ender([&] {
    std::this_thread::sleep_for(20ms);
    buffer.unit_ended();
  });
  EXPECT_TRUE(buffer.take(64, 8 * KiB));
}

TEST(ActiveBuffer, WakersAreCalledAfterEachUnitUntilCancelled) {
  ActiveBuffer buffer;
  int calls = 0;
  const int id = buffer.call_after_units([&] { ++calls; });
  const auto unit = [&] {
    buffer.unit_queued();
    buffer.unit_ended();
  };
  unit();
  EXPECT_EQ(calls, 1);
  buffer.cancel_call(id);
  unit();
  EXPECT_EQ(calls, 1);
}

TEST(ActiveBuffer, AForkedChildHasAnEmptyOne) {
  ActiveBuffer buffer;
  auto* const kept = new Memory(buffer.take(4 * KiB, 8 * KiB));  // the parent's
  buffer.unit_queued();
  const std::byte* const before = buffer.arena_base();
  buffer.lock_for_fork();
  buffer.forget();
  buffer.unlock_after_fork();
  EXPECT_EQ(buffer.in_use(), 0);
  EXPECT_TRUE(buffer.nothing_queued());
  EXPECT_TRUE(buffer.take(8 * KiB, 8 * KiB));
  EXPECT_NE(buffer.arena_base(), before);
  static_cast<void>(kept);
}

TEST(ActiveBuffer, StressOfTakersAndGivers) {
  ActiveBuffer buffer;
  constexpr std::int64_t budget = 256 * KiB, most = 32 * KiB;
  constexpr int takers = 3;
  std::vector<std::jthread> threads;
  for (int t = 0; t < takers; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 2000; ++i) {
        const auto bytes = 1 + static_cast<std::int64_t>(random() % most);
        const Memory memory = buffer.take(bytes, budget);
        memory.data()[bytes - 1] = std::byte{1};
        if (random() % 100 == 0) buffer.trim(budget);
      }
    });
  threads.clear();
  EXPECT_EQ(buffer.in_use(), 0);
  EXPECT_LE(buffer.peak(), budget + takers * most);
}

}  // namespace
}  // namespace penstock
