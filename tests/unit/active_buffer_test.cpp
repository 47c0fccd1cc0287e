// The queue by itself: no MPI, no file. The same program runs under a thread sanitizer.
#include "background/active_buffer.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

namespace penstock {
namespace {

using namespace std::chrono_literals;
constexpr std::int64_t KiB = 1024, MiB = 1024 * KiB;

/// Holds up the I/O thread until opened.
class Gate {
 public:
  void open() {
    {
      const std::lock_guard guard(mutex_);
      open_ = true;
    }
    opened_.notify_all();
  }
  void pass() {
    std::unique_lock guard(mutex_);
    opened_.wait(guard, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

struct ActiveBufferTest : testing::Test {
  ActiveBuffer buffer;
  std::shared_ptr<BufferedFile> file = buffer.file(1, 1, "file", "this process");

  ActiveBuffer::Ticket submit(std::function<void()> work, std::int64_t operation = 1,
                              Extent extent = {0, 8}) {
    return buffer.submit({file, extent, operation, {}, std::move(work)});
  }
};

TEST_F(ActiveBufferTest, RunsUnitsInTheirOrder) {
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) submit([&order, i] { order.push_back(i); });
  buffer.drain(*file);
  ASSERT_EQ(order.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(ActiveBufferTest, TenThousandUnitsInFlight) {
  Gate gate;
  submit([&] { gate.pass(); });
  std::atomic<int> done = 0;
  ActiveBuffer::Ticket last = 0;
  for (int i = 0; i < 10'000; ++i) {
    auto memory = std::make_shared<ActiveBuffer::Memory>(buffer.take(1 * KiB, 64 * MiB));
    std::memset(memory->data(), i & 0xff, KiB);
    last = submit([&done, memory, i] {
      if (memory->data()[KiB - 1] == std::byte(i & 0xff)) ++done;
    });
  }
  EXPECT_FALSE(buffer.is_done(last));
  EXPECT_EQ(buffer.pending(*file).size(), 10'001u);
  gate.open();
  buffer.wait(last);
  EXPECT_EQ(done, 10'000);
  EXPECT_EQ(buffer.in_use(), 0);
}

TEST_F(ActiveBufferTest, WaitsForAsMuchRoomAsItNeeds) {
  Gate first, second;
  const auto unit = [&](Gate& gate) {
    auto memory = std::make_shared<ActiveBuffer::Memory>(buffer.take(4 * MiB, 8 * MiB));
    return submit([memory, &gate] { gate.pass(); });
  };
  unit(first);
  const auto newest = unit(second);
  EXPECT_FALSE(buffer.has_room(1, 8 * MiB));
  EXPECT_FALSE(buffer.try_take(1, 8 * MiB));
  const std::jthread opener([&] {
    std::this_thread::sleep_for(20ms);
    first.open();
  });
  const ActiveBuffer::Memory third = buffer.take(4 * MiB, 8 * MiB);
  EXPECT_FALSE(buffer.is_done(newest));  // it did not wait for that
  EXPECT_LE(buffer.peak(), 8 * MiB);
  second.open();
}

TEST_F(ActiveBufferTest, AUnitLargerThanTheBudgetPassesAlone) {
  Gate gate;
  auto small = std::make_shared<ActiveBuffer::Memory>(buffer.take(4 * KiB, 8 * KiB));
  submit([small, &gate] { gate.pass(); });
  small.reset();
  const std::jthread opener([&] {
    std::this_thread::sleep_for(20ms);
    gate.open();
  });
  const ActiveBuffer::Memory large = buffer.take(1 * MiB, 8 * KiB);
  EXPECT_EQ(large.size(), 1 * MiB);
  EXPECT_EQ(buffer.in_use(), 1 * MiB);
}

TEST_F(ActiveBufferTest, BudgetMayChangeFromTakeToTake) {
  ActiveBuffer::Memory memory = buffer.take(3 * MiB, 4 * MiB);
  EXPECT_FALSE(buffer.try_take(3 * MiB, 4 * MiB));
  const ActiveBuffer::Memory more = buffer.try_take(3 * MiB, 8 * MiB);
  EXPECT_TRUE(more);
  EXPECT_FALSE(buffer.has_room(1, 2 * MiB));
}

TEST_F(ActiveBufferTest, AfterAFailureNothingIsWrittenUntilItIsTaken) {
  std::vector<int> written;
  Gate gate;
  submit([&] { gate.pass(); });
  submit([&] { written.push_back(1); }, 1);
  submit([] { throw Error("writing 'file'", "file", 4096, ENOSPC); }, 2, {4096, 8192});
  submit([&] { written.push_back(3); }, 3, {0, 2 * MiB});
  submit([&] { written.push_back(4); }, 4, {0, MiB});
  gate.open();
  buffer.drain(*file);
  EXPECT_TRUE(buffer.has_failure(*file));
  EXPECT_EQ(written, std::vector<int>{1});
  EXPECT_TRUE(buffer.take_failure(*file));
  buffer.settle(*file);
}

TEST_F(ActiveBufferTest, TheFailureTellsAllAndIsTakenOnce) {
  submit([] { throw Error("writing 'file'", "file", 4096, ENOSPC); }, 2, {4096, 8192});
  submit([] {}, 3, {0, 3 * MiB});
  buffer.drain(*file);
  const std::optional<Error> failure = buffer.take_failure(*file);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->error_class(), ErrorClass::storage);
  EXPECT_EQ(failure->error_number(), ENOSPC);
  EXPECT_EQ(failure->offset(), 4096);
  EXPECT_EQ(failure->path(), "file");
  const std::string text = failure->what();
  EXPECT_NE(text.find("write 2 of the file"), std::string::npos) << text;
  EXPECT_NE(text.find("1 buffered units after it (3.0 MiB) were dropped"), std::string::npos)
      << text;
  EXPECT_FALSE(buffer.take_failure(*file));
  bool written = false;
  submit([&] { written = true; });
  buffer.drain(*file);
  EXPECT_TRUE(written);
}

TEST_F(ActiveBufferTest, AFailureOfOneFileDoesNotTouchAnother) {
  const auto other = buffer.file(1, 2, "other", "this process");
  bool written = false;
  submit([] { throw Error("writing", "file", 0, EIO); });
  buffer.submit({other, {0, 8}, 1, {}, [&] { written = true; }});
  buffer.drain(*other);
  EXPECT_TRUE(written);
  EXPECT_FALSE(buffer.take_failure(*other));
  EXPECT_TRUE(buffer.take_failure(*file));
}

TEST_F(ActiveBufferTest, OneRecordForAFileHoweverOftenItIsOpen) {
  EXPECT_EQ(buffer.file(1, 1, "same", "this process"), file);
  EXPECT_NE(buffer.file(1, 3, "file", "this process"), file);
}

TEST_F(ActiveBufferTest, FinishWritesAllAndALaterUnitStartsAgain) {
  std::atomic<int> done = 0;
  for (int i = 0; i < 100; ++i) submit([&] { ++done; });
  buffer.settle(*file);
  buffer.finish();
  EXPECT_EQ(done, 100);
  submit([&] { ++done; });
  buffer.drain(*file);
  EXPECT_EQ(done, 101);
  buffer.settle(*file);
}

TEST_F(ActiveBufferTest, ToldOnStderrWhatNobodyAskedFor) {
  submit([] { throw Error("writing 'file'", "file", 0, EIO); });
  testing::internal::CaptureStderr();
  buffer.finish();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("LOST DATA: writing 'file'"),
            std::string::npos);
  submit([] {});
  testing::internal::CaptureStderr();
  buffer.finish();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("'file' was never closed"),
            std::string::npos);
  testing::internal::CaptureStderr();
  buffer.finish();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(ActiveBufferTest, WakersAreCalledUntilCancelled) {
  std::atomic<int> calls = 0;
  const int id = buffer.call_after_units([&] { ++calls; });
  submit([] {});
  buffer.drain(*file);
  EXPECT_EQ(calls, 1);
  buffer.cancel_call(id);
  submit([] {});
  buffer.drain(*file);
  EXPECT_EQ(calls, 1);
}

TEST_F(ActiveBufferTest, PlacementOfTheThread) {
  int policy = -1, core = -1;
  Placement placement;
  placement.policy = SCHED_BATCH;
  placement.core = 0;
  buffer.submit({file, {}, 0, placement, [&] {
                   policy = ::sched_getscheduler(0);
                   core = ::sched_getcpu();
                 }});
  buffer.drain(*file);
  EXPECT_EQ(policy, SCHED_BATCH);
  EXPECT_EQ(core, 0);
}

/// Several writers, random sizes, random budgets: every byte arrives, memory stays within the
/// largest budget and a unit.
TEST_F(ActiveBufferTest, StressWithRandomSizesAndBudgets) {
  constexpr int writers = 3, units = 400;
  std::array<std::atomic<std::int64_t>, writers> sums{};
  std::array<std::int64_t, writers> expected{};
  std::vector<std::thread> threads;
  for (int w = 0; w < writers; ++w)
    threads.emplace_back([&, w] {
      std::mt19937 random(static_cast<unsigned>(w) + 7);
      const auto mine = buffer.file(2, static_cast<std::uint64_t>(w), "f", "this process");
      for (int i = 0; i < units; ++i) {
        const std::int64_t bytes = 1 + static_cast<std::int64_t>(random() % (128 * KiB));
        const std::int64_t budget = 64 * KiB << (random() % 4);
        auto memory = std::make_shared<ActiveBuffer::Memory>(buffer.take(bytes, budget));
        std::memset(memory->data(), 1, static_cast<std::size_t>(bytes));
        expected[w] += bytes;
        buffer.submit({mine, {i, i + 1}, i, {}, [&, memory, bytes, i, w] {
                         std::int64_t sum = 0;
                         for (std::int64_t b = 0; b < bytes; ++b)
                           sum += static_cast<std::int64_t>(memory->data()[b]);
                         sums[w] += sum;
                       }});
        if (random() % 50 == 0) buffer.drain(*mine);
        if (random() % 50 == 0) buffer.trim(budget);
      }
      buffer.drain(*mine);
      buffer.settle(*mine);
    });
  for (std::thread& thread : threads) thread.join();
  for (int w = 0; w < writers; ++w) EXPECT_EQ(sums[w], expected[w]);
  EXPECT_LE(buffer.peak(), 512 * KiB + writers * 128 * KiB);
  EXPECT_EQ(buffer.in_use(), 0);
}

}  // namespace
}  // namespace penstock
