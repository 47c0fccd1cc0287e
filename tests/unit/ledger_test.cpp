#include "background/ledger.hpp"

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

TEST(Ledger, PendingIsWhatHasNotEnded) {
  Ledger ledger;
  ledger.queued(1, write(1, {0, 8}));
  ledger.queued(2, IoUnit());
  ledger.queued(3, write(2, {16, 24}));
  EXPECT_EQ(ledger.pending(), (std::vector<Extent>{{0, 8}, {16, 24}}));
  EXPECT_EQ(ledger.pending_hull(), (Extent{0, 24}));
  ledger.ended(write(1, {0, 8}), false, std::nullopt);
  EXPECT_EQ(ledger.pending(), (std::vector<Extent>{{16, 24}}));
  using Which = Ledger::Which;
  EXPECT_FALSE(ledger.is_over(Which::reads, 1));
  EXPECT_TRUE(ledger.is_over(Which::reads, 2));
  EXPECT_FALSE(ledger.is_over(Which::writes, 2));
  EXPECT_FALSE(ledger.is_over(Which::all, 2));
  EXPECT_TRUE(ledger.is_over(Which::all, 3));
}

/// Units of one write that are under way together may all fail.
TEST(Ledger, OfSeveralFailuresTheFirstIsTold) {
  Ledger ledger;
  for (IoTicket ticket = 1; ticket <= 2; ++ticket) ledger.queued(ticket, write(1));
  ledger.ended(write(1), false, no_space());
  ledger.ended(write(1), false, Error("writing 'file'", "file", 8192, EIO));
  const std::optional<Error> failure = ledger.take_failure();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->error_number(), ENOSPC);
  EXPECT_EQ(failure->offset(), 4096);
}

TEST(Ledger, TheFirstFailureTellsAllAndIsTakenOnce) {
  Ledger ledger;
  ledger.queued(1, write(2, {4096, 8192}));
  ledger.queued(2, write(3, {0, 3 * MiB}));
  ledger.ended(write(2, {4096, 8192}), false, no_space());
  EXPECT_TRUE(ledger.failed());
  ledger.ended(write(3, {0, 3 * MiB}), true, std::nullopt);
  const std::optional<Error> failure = ledger.take_failure();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->error_class(), ErrorClass::storage);
  EXPECT_EQ(failure->error_number(), ENOSPC);
  EXPECT_EQ(failure->offset(), 4096);
  EXPECT_EQ(failure->path(), "file");
  const std::string text = failure->what();
  EXPECT_NE(text.find("write 2 of the file"), std::string::npos) << text;
  EXPECT_NE(text.find("1 buffered units after it (3.0 MiB) were dropped"), std::string::npos)
      << text;
  EXPECT_FALSE(ledger.failed());
  EXPECT_FALSE(ledger.take_failure());
}

TEST(Ledger, WhatWasDroppedIsToldOnce) {
  Ledger ledger;
  for (const bool drops : {true, false}) {
    ledger.queued(1, write(2));
    ledger.ended(write(2), false, no_space());
    if (drops) {
      ledger.queued(2, write(3));
      ledger.ended(write(3), true, std::nullopt);
    }
    const std::string text = ledger.take_failure()->what();
    EXPECT_EQ(text.find("were dropped") != std::string::npos, drops) << text;
  }
}

TEST(Ledger, LostWritesAreKnownWhoeverHasTakenTheFailure) {
  Ledger ledger;
  for (const std::int64_t operation : {1, 2, 3}) ledger.queued(1, write(operation));
  ledger.ended(write(1), false, std::nullopt);
  ledger.ended(write(2), false, no_space());
  ledger.ended(write(3), true, std::nullopt);
  EXPECT_TRUE(ledger.take_failure());
  EXPECT_FALSE(ledger.lost(&owner, 1));
  EXPECT_EQ(ledger.lost(&owner, 2)->error_number(), ENOSPC);
  const std::string text = ledger.lost(&owner, 3)->what();
  EXPECT_NE(text.find("write 3, which came after it, was dropped"), std::string::npos) << text;
  const int other = 0;
  EXPECT_FALSE(ledger.lost(&other, 2));
}

TEST(Ledger, WhatFailsBeforeItIsQueuedIsAFailureToo) {
  Ledger ledger;
  ledger.fail(no_space(), &owner, 7);
  ledger.fail(Error(ErrorClass::internal, "later"), &owner, 8);
  EXPECT_EQ(ledger.lost(&owner, 8)->error_class(), ErrorClass::internal);
  EXPECT_EQ(ledger.take_failure()->error_number(), ENOSPC);
}

TEST(Ledger, HasUnsyncedAfterWritesAlone) {
  Ledger ledger;
  ledger.queued(1, IoUnit());
  EXPECT_FALSE(ledger.has_unsynced());
  ledger.queued(2, write(1));
  EXPECT_TRUE(ledger.has_unsynced());
  ledger.mark_synced();
  EXPECT_FALSE(ledger.has_unsynced());
}

TEST(Ledger, PublishesWhatIsAnnouncedUntilItIsWritten) {
  Ledger ledger;
  SharedExtent hull{};
  ledger.publish(hull);
  ledger.announce({8, 32});
  EXPECT_EQ(hull.get(), (Extent{8, 32}));
  EXPECT_FALSE(ledger.has_pending());
  EXPECT_LT(ledger.pending_hull().end, 0);
  ledger.queued(1, write(1, {8, 16}));
  ledger.ended(write(1, {8, 16}), false, std::nullopt);
  EXPECT_EQ(hull.get(), (Extent{8, 32})) << "another write will follow";
  ledger.queued(2, write(1, {16, 32}));
  ledger.retract({8, 32});
  EXPECT_EQ(hull.get(), (Extent{8, 32})) << "it is queued";
  ledger.ended(write(1, {16, 32}), false, std::nullopt);
  EXPECT_TRUE(hull.get().empty());
}

TEST(Ledger, PublishesWhatWasAnnouncedBefore) {
  Ledger ledger;
  SharedExtent hull{};
  ledger.announce({8, 32});
  ledger.publish(hull);
  EXPECT_EQ(hull.get(), (Extent{8, 32}));
  ledger.retract({8, 32});
  EXPECT_TRUE(hull.get().empty());
}

}  // namespace
}  // namespace penstock
