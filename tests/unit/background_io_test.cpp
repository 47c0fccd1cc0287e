// Files, their queues and the memory that they share. The same program runs under a thread
// sanitizer.
#include "background/background_io.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "background_gate.hpp"

namespace penstock {
namespace {

using namespace std::chrono_literals;
using File = std::shared_ptr<BufferedFile>;

constexpr QueueKey disk{1, 0, false}, other_disk{2, 0, false}, cache{3, 0, true};

IoUnit unit_of(std::function<void()> work, std::int64_t operation = 1, Extent extent = {0, 8}) {
  IoUnit unit;
  unit.extent = extent;
  unit.operation = operation;
  unit.work = std::move(work);
  return unit;
}

struct BackgroundIoTest : testing::Test {
  BackgroundIo background;
  std::uint64_t files = 0;

  File open(const QueueKey& key) {
    return background.file({key.device, ++files}, key, "file", "this process");
  }
  /// Submits a unit that has memory.
  IoTicket submit(BufferedFile& file, std::int64_t bytes, std::function<void()> work) {
    auto memory = std::make_shared<ActiveBuffer::Memory>(background.memory().take(bytes, 64 * MiB));
    return file.submit(unit_of([memory, work = std::move(work)] { work(); }));
  }
};

/// Whether a unit of `file` is carried out; waits for a while.
bool progresses(BufferedFile& file) {
  const IoTicket ticket = file.submit(unit_of([] {}));
  for (int i = 0; i < 500 && !file.is_done(ticket); ++i) std::this_thread::sleep_for(10ms);
  return file.is_done(ticket);
}

/// A file opened twice in this process has one record; both handles see what other processes have
/// pending.
TEST_F(BackgroundIoTest, WhatOthersHavePendingIsSeenByEveryHandle) {
  const File common = background.file({9, 9}, disk, "file", "this process");
  const File own = background.file({9, 9}, disk, "file", "this process");
  const File another = open(disk);
  SharedExtent hull{};  // of another process, which only one handle knows
  common->watch({&hull, 1, 4711});
  EXPECT_FALSE(own->is_pending_elsewhere({0, 100}));
  hull.include({40, 60});
  EXPECT_TRUE(own->is_pending_elsewhere({0, 100}));
  EXPECT_TRUE(common->is_pending_elsewhere({59, 60}));
  ASSERT_EQ(own->pending_elsewhere({0, 100}).size(), 1U);
  EXPECT_EQ(own->pending_elsewhere({0, 100})[0].process, 4711);
  EXPECT_TRUE(own->pending_elsewhere({60, 100}).empty());
  EXPECT_FALSE(own->is_pending_elsewhere({60, 100}));
  EXPECT_FALSE(another->is_pending_elsewhere({0, 100}));
  common->unwatch(hull);
  EXPECT_FALSE(own->is_pending_elsewhere({0, 100}));
}

TEST_F(BackgroundIoTest, ASlowDeviceDoesNotStallTheOthers) {
  const File slow = open(disk), quick = open(other_disk);
  Gate gate;
  for (int i = 0; i < 3; ++i) slow->submit(unit_of([&] { gate.pass(); }));
  EXPECT_TRUE(progresses(*quick));
  EXPECT_EQ(slow->pending().size(), 3u);
  gate.open();
  slow->drain();
  for (const File& file : {slow, quick}) file->mark_synced();
}

TEST_F(BackgroundIoTest, FilesOfOneDeviceKeepTheirOrder) {
  const File a = open(disk), b = open(disk);
  EXPECT_EQ(background.queues(), 1u);
  std::vector<int> order;
  for (int i = 0; i < 100; ++i)
    (i % 3 == 0 ? a : b)->submit(unit_of([&order, i] { order.push_back(i); }));
  a->drain();
  b->drain();
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(order.size(), 100u);
  for (const File& file : {a, b}) file->mark_synced();
}

TEST_F(BackgroundIoTest, AFileKeepsItsQueueWhileItIsOpenWhateverTheNextHandleSays) {
  const File file = background.file({1, 1}, disk, "file", "this process");
  EXPECT_EQ(background.file({1, 1}, other_disk, "same", "this process"), file);
  EXPECT_NE(background.file({1, 2}, disk, "file", "this process"), file);
  EXPECT_EQ(background.queues(), 1u);
}

TEST_F(BackgroundIoTest, AFailureOfOneFileDoesNotTouchAnother) {
  const File file = open(disk), other = open(disk);
  bool written = false;
  file->submit(unit_of([] { throw Error("writing", "file", 0, EIO); }));
  other->submit(unit_of([&] { written = true; }));
  other->drain();
  EXPECT_TRUE(written);
  EXPECT_FALSE(other->take_failure());
  EXPECT_TRUE(file->take_failure());
  for (const File& each : {file, other}) each->mark_synced();
}

TEST_F(BackgroundIoTest, WhoWaitsForRoomGoesOnWhenAnyQueueMakesSome) {
  const File slow = open(disk), quick = open(other_disk);
  Gate slow_gate, quick_gate;
  const IoTicket stuck = submit(*slow, 6 * MiB, [&] { slow_gate.pass(); });
  submit(*quick, 2 * MiB, [&] { quick_gate.pass(); });
  const std::jthread opener([&] {
    std::this_thread::sleep_for(20ms);
    quick_gate.open();
  });
  EXPECT_TRUE(background.memory().take(2 * MiB, 8 * MiB));
  EXPECT_LE(background.memory().peak(), 8 * MiB);
  EXPECT_FALSE(slow->is_done(stuck));
  slow_gate.open();
  slow->drain();
  for (const File& file : {slow, quick}) file->mark_synced();
}

TEST_F(BackgroundIoTest, WhoWaitsForRoomIsNotThrottledByWhoCopies) {
  const File file = open(cache);
  const BackgroundIo::Throttle copying(background);
  submit(*file, 1 * MiB, [] {});
  ASSERT_FALSE(background.memory().try_take(1 * MiB, 1 * MiB));
  const BackgroundIo::Expedite expedite(background);
  EXPECT_TRUE(background.memory().take(1 * MiB, 1 * MiB));
  file->drain();
  file->mark_synced();
}

TEST_F(BackgroundIoTest, WritersThatCopyThrottleThePageCacheAlone) {
  const File cached = open(cache), direct = open(disk);
  {
    const BackgroundIo::Throttle copying(background);
    const IoTicket ticket = cached->submit(unit_of([] {}));
    EXPECT_TRUE(progresses(*direct));
    EXPECT_FALSE(cached->is_done(ticket));
  }
  EXPECT_TRUE(progresses(*cached));
  for (const File& file : {cached, direct}) file->mark_synced();
}

TEST_F(BackgroundIoTest, AQueueOfAFileEndsWithItAndItsThreadToo) {
  File first = open({1, 7, false}), second = open({1, 8, false});
  const File other = open(other_disk);
  for (const File& file : {first, second, other}) {
    file->submit(unit_of([] {}));
    file->drain();
    file->mark_synced();
  }
  EXPECT_EQ(background.threads(), 3u);
  first.reset();
  EXPECT_EQ(background.queues(), 2u);
  second.reset();
  EXPECT_EQ(background.queues(), 1u);
  EXPECT_EQ(background.threads(), 1u);
}

TEST_F(BackgroundIoTest, AQueueOfADeviceStaysForTheNextFile) {
  for (int turn = 0; turn < 3; ++turn) {
    const File file = open(disk);
    file->submit(unit_of([] {}));
    file->drain();
    file->mark_synced();
  }
  EXPECT_EQ(background.queues(), 1u);
  EXPECT_EQ(background.threads(), 1u);
}

TEST(BackgroundIo, AThousandOpenFilesOfAThousandDevicesDoNotKeepAThousandThreads) {
  BackgroundIo background(10ms);
  std::vector<File> files;
  std::atomic<int> done = 0;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    files.push_back(background.file({1, i}, {1, i, false}, "file", "this process"));
    files.back()->submit(unit_of([&] { ++done; }));
  }
  for (const File& file : files) {
    file->drain();
    file->mark_synced();
  }
  EXPECT_EQ(done, 1000);
  EXPECT_EQ(background.queues(), 1000u);
  for (int i = 0; i < 500 && background.threads() > 0; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(background.threads(), 0u);
}

TEST_F(BackgroundIoTest, FinishWritesAllOfAllQueuesAndTellsWhatNobodyAskedFor) {
  const File failed = open(disk), left = open(other_disk), closed = open(other_disk);
  failed->submit(unit_of([] { throw Error("writing 'file'", "file", 0, EIO); }));
  int written = 0;
  for (const File& file : {left, closed}) file->submit(unit_of([&] { ++written; }));
  closed->mark_synced();
  testing::internal::CaptureStderr();
  background.finish();
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(written, 2);
  EXPECT_NE(text.find("LOST DATA: writing 'file'"), std::string::npos) << text;
  const std::size_t never = text.find("'file' was never closed");
  EXPECT_NE(never, std::string::npos) << text;
  EXPECT_EQ(text.find("was never closed", never + 10), std::string::npos) << text;
  testing::internal::CaptureStderr();
  background.finish();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(progresses(*left));
  left->mark_synced();
}

TEST_F(BackgroundIoTest, LaterWritesAreDroppedBeforeAFailureIsTaken) {
  const File file = open(disk);
  Gate gate;
  file->submit(unit_of([] { throw Error("writing 'file'", "file", 4096, ENOSPC); }, 2));
  bool written = false;
  file->submit(unit_of([&] { gate.pass(); }, 2, {}));
  file->submit(unit_of([&] { written = true; }, 3));
  while (!file->has_failure()) std::this_thread::sleep_for(1ms);
  const std::jthread opener([&] {
    std::this_thread::sleep_for(10ms);
    gate.open();
  });
  EXPECT_EQ(file->take_failure()->error_number(), ENOSPC);
  EXPECT_FALSE(written);
  EXPECT_TRUE(file->lost(nullptr, 3));
  file->mark_synced();
}

/// Not under a sanitizer: with TSan a child of several threads may start none, and with ASan it
/// inherits the allocator's lock from a thread that it does not have.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST_F(BackgroundIoTest, AForkedChildHasNothingQueuedAndCanGoOn) {
  const File slow = open(disk), quick = open(other_disk);
  Gate gate;
  submit(*slow, 4 * KiB, [&] { gate.pass(); });
  submit(*slow, 4 * KiB, [] {});
  EXPECT_TRUE(progresses(*quick));
  const auto calls = background.queue_of_calls();
  const IoTicket parents = calls->submit(unit_of([&] { gate.pass(); }, 1, {}));
  background.lock_for_fork();
  const pid_t child = ::fork();
  if (child == 0) {
    background.forget_after_fork();
    const bool empty = slow->pending().empty() && background.memory().in_use() == 0 &&
                       background.memory().nothing_queued() && calls->is_done(parents);
    calls->wait(calls->submit(unit_of([] {}, 1, {})));
    ::_exit(empty && progresses(*slow) && progresses(*quick) ? 0 : 1);
  }
  background.unlock_after_fork();
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(slow->pending().size(), 2u);
  EXPECT_FALSE(calls->is_done(parents));
  gate.open();
  calls->drain();
  slow->drain();
  for (const File& file : {slow, quick}) file->mark_synced();
}
#endif

/// Several writers of several devices, random sizes and budgets: every byte arrives, and memory
/// stays within the largest budget plus a unit.
TEST_F(BackgroundIoTest, StressWithRandomSizesAndBudgets) {
  constexpr std::size_t writers = 3;
  constexpr int units = 400;
  std::array<std::atomic<std::int64_t>, writers> sums{};
  std::array<std::int64_t, writers> expected{};
  ActiveBuffer& buffer = background.memory();
  std::vector<std::jthread> threads;
  for (std::size_t w = 0; w < writers; ++w)
    threads.emplace_back([&, w] {
      std::mt19937 random(static_cast<unsigned>(w) + 7);
      File mine;
      for (int i = 0; i < units; ++i) {
        // Reopened now and then, on a device that the others use, too.
        if (i % 100 == 0) mine.reset();
        if (!mine)
          mine = background.file({2, w}, {random() % 2, 0, random() % 2 == 0}, "f", "this process");
        const std::int64_t bytes = 1 + static_cast<std::int64_t>(random() % (128 * KiB));
        const std::int64_t budget = 64 * KiB << (random() % 4);
        auto memory = std::make_shared<ActiveBuffer::Memory>(buffer.try_take(bytes, budget));
        if (!*memory) {
          const BackgroundIo::Expedite expedite(background);
          *memory = buffer.take(bytes, budget);
        }
        const BackgroundIo::Throttle copying(background);
        std::memset(memory->data(), 1, static_cast<std::size_t>(bytes));
        expected[w] += bytes;
        mine->submit(unit_of(
            [&, memory, bytes, w] {
              std::int64_t sum = 0;
              for (std::int64_t b = 0; b < bytes; ++b)
                sum += static_cast<std::int64_t>(memory->data()[b]);
              sums[w] += sum;
            },
            i, {i, i + 1}));
        if (random() % 50 == 0) mine->drain();
        if (random() % 50 == 0) buffer.trim(budget);
      }
      mine->drain();
      mine->mark_synced();
    });
  threads.clear();
  for (std::size_t w = 0; w < writers; ++w) EXPECT_EQ(sums[w], expected[w]);
  EXPECT_LE(buffer.peak(), 512 * KiB + static_cast<std::int64_t>(writers) * 128 * KiB);
  EXPECT_EQ(buffer.in_use(), 0);
}

}  // namespace
}  // namespace penstock
