// The counting adapter: what counts as a call, and what as bytes.
#include <gtest/gtest.h>

#include "storage/fault.hpp"
#include "storage_scripted.hpp"
#include "storage_temp_folder.hpp"
#include "support/counted.hpp"

namespace penstock {
namespace {

using test::count;
using test::pattern;

TEST(CountStorage, CountsCallsAndTheBytesThatMoved) {
  StorageCounts counts;
  const auto storage = count(make_memory_storage("m", 10), counts);
  std::vector<std::byte> into(8);
  EXPECT_EQ(storage->read_some(into, 0), 8);
  EXPECT_EQ(storage->read_some(into, 6), 4);  // across the end
  EXPECT_EQ(storage->read_some(into, 50), 0);
  EXPECT_EQ(storage->write_some(pattern(5), 0), 5);
  EXPECT_EQ(counts.reads, 3);
  EXPECT_EQ(counts.bytes_read, 12);
  EXPECT_EQ(counts.writes, 1);
  EXPECT_EQ(counts.bytes_written, 5);
  EXPECT_EQ(counts.other_calls, 0);
}

TEST(CountStorage, AMappedReadIsOneAccessOfTheBytesThatWereTaken) {
  const test::TempFolder folder;
  StorageCounts counts;
  const auto storage = count(open_posix(folder.file("f"), OpenFlag::create), counts);
  storage->write_some(pattern(100), 0);
  EXPECT_TRUE(storage->read_mapped({10, 90}, 30, [](const std::byte*) {}));
  EXPECT_FALSE(storage->read_mapped({10, 101}, 30, [](const std::byte*) {}));
  EXPECT_EQ(counts.reads, 1);
  EXPECT_EQ(counts.bytes_read, 30);
}

/// Records the reported accesses.
struct AccessLog : Listener {
  std::vector<Span> spans;
  void take(const Span& span) noexcept override { spans.push_back(span); }
  void expect(std::size_t i, Phase phase, std::int64_t bytes, std::int64_t offset) const {
    ASSERT_LT(i, spans.size());
    EXPECT_EQ(spans[i].phase, phase);
    EXPECT_EQ(spans[i].bytes, bytes);
    EXPECT_EQ(spans[i].offset, offset);
    EXPECT_EQ(spans[i].operation, 12);
    EXPECT_LE(spans[i].begin, spans[i].end);
  }
};

TEST(CountStorage, TellsOfEachAccess) {
  const test::TempFolder folder;
  AccessLog log;
  StorageCounts counts;
  for (const bool later : {false, true}) {
    const auto inner = later ? open_uring(folder.file("f"), OpenFlag::create, false, 4, nullptr)
                             : open_posix(folder.file("f"), OpenFlag::create);
    CountedStorage storage(*inner, counts, counts, &log, 12);
    log.spans.clear();
    std::vector<std::byte> bytes = pattern(100);
    const iovec part = part_of(std::span<const std::byte>(bytes));
    IoRequest request{.direction = Direction::write, .offset = 30, .memory = {&part, 1}};
    storage.submit({&request, 1});
    storage.wait(request);
    storage.read_some(bytes, 90);
    EXPECT_FALSE(storage.read_mapped({0, 10000}, 30, [](const std::byte*) {}));
    storage.sync();
    ASSERT_EQ(log.spans.size(), 3U);
    log.expect(0, Phase::file_write, 100, 30);
    log.expect(1, Phase::file_read, 40, 90);
    log.expect(2, Phase::file_sync, 0, -1);
  }
}

TEST(CountStorage, CountsOtherCalls) {
  StorageCounts counts;
  const auto storage = count(make_memory_storage("m"), counts);
  storage->size();
  storage->resize(3);
  storage->sync();
  EXPECT_EQ(counts.other_calls, 3);
  int error = 0;
  storage->lock({0, 10}, LockKind::shared, error);
  EXPECT_EQ(counts.other_calls, 5);  // taken and released
}

TEST(CountStorage, FailedCallsCountButMoveNothing) {
  StorageCounts counts;
  const auto storage = count(
      std::make_unique<test::ScriptedStorage>(std::deque<std::int64_t>{-EIO, -ENOSPC}), counts);
  std::vector<std::byte> into(8);
  EXPECT_EQ(storage->read_some(into, 0), -EIO);
  EXPECT_EQ(storage->write_some(into, 0), -ENOSPC);
  int error = 0;
  EXPECT_EQ(storage->lock({0, 10}, LockKind::shared, error), nullptr);
  EXPECT_EQ(error, ENOLCK);
  EXPECT_EQ(counts.reads, 1);
  EXPECT_EQ(counts.writes, 1);
  EXPECT_EQ(counts.bytes_read + counts.bytes_written, 0);
  EXPECT_EQ(counts.other_calls, 1);  // nothing was held, so nothing is released
}

TEST(CountStorage, CountsTheRetriesOfFullTransfers) {
  StorageCounts counts;
  const auto storage =
      inject_faults(count(make_memory_storage("m"), counts), "write@0=short,write@1=EINTR", 0);
  EXPECT_EQ(write_fully(*storage, pattern(10), 0).bytes, 10);
  EXPECT_EQ(counts.writes, 2);  // the interrupted one was not passed on
  EXPECT_EQ(counts.bytes_written, 10);
}

}  // namespace
}  // namespace penstock
