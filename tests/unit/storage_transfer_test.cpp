// read_fully and write_fully: what they complete and report, and that they end.
#include <gtest/gtest.h>

#include "storage/fault.hpp"
#include "storage_scripted.hpp"
#include "storage_temp_folder.hpp"

namespace penstock {
namespace {

using test::pattern;
using test::ScriptedStorage;
using Calls = std::vector<ScriptedStorage::Call>;

TEST(ReadFully, CompletesShortReadsWhereTheyStopped) {
  ScriptedStorage storage({3, 1, 6});
  std::vector<std::byte> into(10);
  const Transfer got = read_fully(storage, into, 100);
  EXPECT_EQ(got.bytes, 10);
  EXPECT_EQ(got.error, 0);
  EXPECT_EQ(storage.calls(), (Calls{{100, 10}, {103, 7}, {104, 6}}));
  for (std::size_t i = 0; i < into.size(); ++i)
    EXPECT_EQ(into[i], static_cast<std::byte>(100 + i)) << i;
}

TEST(ReadFully, RetriesInterruptedReads) {
  ScriptedStorage storage({-EINTR, 4, -EINTR, -EINTR, 6});
  std::vector<std::byte> into(10);
  const Transfer got = read_fully(storage, into, 0);
  EXPECT_EQ(got.bytes, 10);
  EXPECT_EQ(got.error, 0);
  EXPECT_EQ(storage.calls(), (Calls{{0, 10}, {0, 10}, {4, 6}, {4, 6}, {4, 6}}));
}

TEST(ReadFully, EndOfFileIsNoError) {
  ScriptedStorage storage({4, 0});
  std::vector<std::byte> into(10);
  const Transfer got = read_fully(storage, into, 0);
  EXPECT_EQ(got.bytes, 4);
  EXPECT_EQ(got.error, 0);
}

TEST(ReadFully, ErrorAfterAPartTellsTheBytesSoFar) {
  ScriptedStorage storage({4, 2, -EIO});
  std::vector<std::byte> into(10);
  const Transfer got = read_fully(storage, into, 0);
  EXPECT_EQ(got.bytes, 6);
  EXPECT_EQ(got.error, EIO);
}

TEST(ReadFully, OtherErrorsAreNotRetried) {
  ScriptedStorage storage({-EAGAIN, 10});
  std::vector<std::byte> into(10);
  const Transfer got = read_fully(storage, into, 0);
  EXPECT_EQ(got.bytes, 0);
  EXPECT_EQ(got.error, EAGAIN);
  EXPECT_EQ(storage.calls().size(), 1u);
}

TEST(WriteFully, CompletesShortWritesWhereTheyStopped) {
  ScriptedStorage storage({3, -EINTR, 1, 6});
  const auto from = pattern(10);
  const Transfer done = write_fully(storage, from, 100);
  EXPECT_EQ(done.bytes, 10);
  EXPECT_EQ(done.error, 0);
  EXPECT_EQ(storage.calls(), (Calls{{100, 10}, {103, 7}, {103, 7}, {104, 6}}));
  EXPECT_EQ(storage.written(), from);
}

TEST(WriteFully, ErrorAfterAPartTellsTheBytesSoFar) {
  ScriptedStorage storage({7, -ENOSPC});
  const Transfer done = write_fully(storage, pattern(10), 0);
  EXPECT_EQ(done.bytes, 7);
  EXPECT_EQ(done.error, ENOSPC);
}

TEST(WriteFully, WriteOfNothingIsAnError) {
  ScriptedStorage storage({7, 0});
  const Transfer done = write_fully(storage, pattern(10), 0);
  EXPECT_EQ(done.bytes, 7);
  EXPECT_EQ(done.error, EIO);
  EXPECT_EQ(storage.calls().size(), 2u);
}

TEST(Transfers, OfNothingCallNothing) {
  ScriptedStorage storage({});
  EXPECT_EQ(read_fully(storage, {}, 5).error, 0);
  EXPECT_EQ(write_fully(storage, {}, 5).error, 0);
  EXPECT_TRUE(storage.calls().empty());
}

TEST(Transfers, EndWhenEveryCallIsShort) {
  const auto storage = inject_faults(make_memory_storage("m"), "write@*=short,read@*=short", 0);
  const auto from = pattern(10001);
  EXPECT_EQ(write_fully(*storage, from, 3).bytes, 10001);
  std::vector<std::byte> into(from.size());
  EXPECT_EQ(read_fully(*storage, into, 3).bytes, 10001);
  EXPECT_EQ(into, from);
}

}  // namespace
}  // namespace penstock
