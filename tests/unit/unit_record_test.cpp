#include "background/unit_record.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "background_gate.hpp"

namespace penstock {
namespace {

const int owner = 0;

IoUnit write(std::int64_t operation, Extent extent = {0, 8}) {
  IoUnit unit;
  unit.extent = extent;
  unit.operation = operation;
  unit.owner = &owner;
  return unit;
}

Error no_space() {
  return Error("writing 'file'", "file", 4096, ENOSPC);
}

TEST(UnitRecord, PendingIsWhatHasNotEnded) {
  UnitRecord record;
  record.queued(1, write(1, {0, 8}));
  record.queued(2, IoUnit());
  record.queued(3, write(2, {16, 24}));
  EXPECT_EQ(record.pending(), (std::vector<Extent>{{0, 8}, {16, 24}}));
  EXPECT_EQ(record.pending_hull(), (Extent{0, 24}));
  record.ended(write(1, {0, 8}), false, std::nullopt);
  EXPECT_EQ(record.pending(), (std::vector<Extent>{{16, 24}}));
  using Which = UnitRecord::Which;
  EXPECT_FALSE(record.is_over(Which::reads, 1));
  EXPECT_TRUE(record.is_over(Which::reads, 2));
  EXPECT_FALSE(record.is_over(Which::writes, 2));
  EXPECT_FALSE(record.is_over(Which::all, 2));
  EXPECT_TRUE(record.is_over(Which::all, 3));
}

/// Units of one write in flight together may all fail.
TEST(UnitRecord, OfSeveralFailuresTheFirstIsTold) {
  UnitRecord record;
  for (IoTicket ticket = 1; ticket <= 2; ++ticket) record.queued(ticket, write(1));
  record.ended(write(1), false, no_space());
  record.ended(write(1), false, Error("writing 'file'", "file", 8192, EIO));
  const std::optional<Error> failure = record.take_failure();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->error_number(), ENOSPC);
  EXPECT_EQ(failure->offset(), 4096);
}

TEST(UnitRecord, TheFirstFailureTellsAllAndIsTakenOnce) {
  UnitRecord record;
  record.queued(1, write(2, {4096, 8192}));
  record.queued(2, write(3, {0, 3 * MiB}));
  record.ended(write(2, {4096, 8192}), false, no_space());
  EXPECT_TRUE(record.failed());
  record.ended(write(3, {0, 3 * MiB}), true, std::nullopt);
  const std::optional<Error> failure = record.take_failure();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->error_class(), ErrorClass::storage);
  EXPECT_EQ(failure->error_number(), ENOSPC);
  EXPECT_EQ(failure->offset(), 4096);
  EXPECT_EQ(failure->path(), "file");
  const std::string text = failure->what();
  EXPECT_NE(text.find("write 2 of the file"), std::string::npos) << text;
  EXPECT_NE(text.find("1 buffered units after it (3.0 MiB) were dropped"), std::string::npos)
      << text;
  EXPECT_FALSE(record.failed());
  EXPECT_FALSE(record.take_failure());
}

TEST(UnitRecord, WhatWasDroppedIsToldOnce) {
  UnitRecord record;
  for (const bool drops : {true, false}) {
    record.queued(1, write(2));
    record.ended(write(2), false, no_space());
    if (drops) {
      record.queued(2, write(3));
      record.ended(write(3), true, std::nullopt);
    }
    const std::string text = record.take_failure()->what();
    EXPECT_EQ(text.find("were dropped") != std::string::npos, drops) << text;
  }
}

TEST(UnitRecord, LostWritesAreKnownWhoeverHasTakenTheFailure) {
  UnitRecord record;
  for (const std::int64_t operation : {1, 2, 3}) record.queued(1, write(operation));
  record.ended(write(1), false, std::nullopt);
  record.ended(write(2), false, no_space());
  record.ended(write(3), true, std::nullopt);
  EXPECT_TRUE(record.take_failure());
  EXPECT_FALSE(record.lost(&owner, 1));
  EXPECT_EQ(record.lost(&owner, 2)->error_number(), ENOSPC);
  const std::string text = record.lost(&owner, 3)->what();
  EXPECT_NE(text.find("write 3, which came after it, was dropped"), std::string::npos) << text;
  const int other = 0;
  EXPECT_FALSE(record.lost(&other, 2));
}

TEST(UnitRecord, WhatFailsBeforeItIsQueuedIsAFailureToo) {
  UnitRecord record;
  record.fail(no_space(), &owner, 7);
  record.fail(Error(ErrorClass::internal, "later"), &owner, 8);
  EXPECT_EQ(record.lost(&owner, 8)->error_class(), ErrorClass::internal);
  EXPECT_EQ(record.take_failure()->error_number(), ENOSPC);
}

TEST(UnitRecord, HasUnsyncedAfterWritesAlone) {
  UnitRecord record;
  record.queued(1, IoUnit());
  EXPECT_FALSE(record.has_unsynced());
  record.queued(2, write(1));
  EXPECT_TRUE(record.has_unsynced());
  record.mark_synced();
  EXPECT_FALSE(record.has_unsynced());
}

TEST(UnitRecord, PublishesWhatIsAnnouncedUntilItIsWritten) {
  UnitRecord record;
  SharedExtent hull{};
  record.publish(hull);
  record.announce({8, 32});
  EXPECT_EQ(hull.get(), (Extent{8, 32}));
  EXPECT_FALSE(record.has_pending());
  EXPECT_LT(record.pending_hull().end, 0);
  record.queued(1, write(1, {8, 16}));
  record.ended(write(1, {8, 16}), false, std::nullopt);
  EXPECT_EQ(hull.get(), (Extent{8, 32})) << "another write will follow";
  record.queued(2, write(1, {16, 32}));
  record.retract({8, 32});
  EXPECT_EQ(hull.get(), (Extent{8, 32})) << "it is queued";
  record.ended(write(1, {16, 32}), false, std::nullopt);
  EXPECT_TRUE(hull.get().empty());
}

TEST(UnitRecord, PublishesWhatWasAnnouncedBefore) {
  UnitRecord record;
  SharedExtent hull{};
  record.announce({8, 32});
  record.publish(hull);
  EXPECT_EQ(hull.get(), (Extent{8, 32}));
  record.retract({8, 32});
  EXPECT_TRUE(hull.get().empty());
}

}  // namespace
}  // namespace penstock
