// Behaviour that all kinds of storage share: bytes, and the size of the file.
#include <algorithm>
#include <cerrno>
#include <iterator>

#include "storage_kinds.hpp"

namespace penstock::test {
namespace {

class StorageBytes : public StorageConformance {};

TEST_P(StorageBytes, TellsItsPath) {
  EXPECT_EQ(storage_->path(), path());
}

TEST_P(StorageBytes, StartsEmpty) {
  EXPECT_EQ(storage_->size(), 0);
}

TEST_P(StorageBytes, GivesBackWhatWasWritten) {
  const Bytes bytes = pattern(5000);
  write(*storage_, bytes, 0);
  EXPECT_EQ(storage_->size(), 5000);
  EXPECT_EQ(read(*storage_, 0, 5000), bytes);
  EXPECT_EQ(read(*storage_, 1234, 77), Bytes(bytes.begin() + 1234, bytes.begin() + 1311));
}

TEST_P(StorageBytes, ReadPastTheEndGivesNothing) {
  write(*storage_, pattern(10), 0);
  Bytes into(4);
  EXPECT_EQ(storage_->read_some(into, 10), 0);
  EXPECT_EQ(storage_->read_some(into, 11), 0);
  EXPECT_EQ(storage_->read_some(into, 1000 * giga), 0);
  EXPECT_EQ(storage_->size(), 10);
}

TEST_P(StorageBytes, ReadAcrossTheEndIsShort) {
  const Bytes bytes = pattern(10);
  write(*storage_, bytes, 0);
  Bytes into(8, std::byte{0xee});
  EXPECT_EQ(storage_->read_some(into, 7), 3);
  EXPECT_EQ(Bytes(into.begin(), into.begin() + 3), Bytes(bytes.begin() + 7, bytes.end()));
  EXPECT_EQ(Bytes(into.begin() + 3, into.end()), Bytes(5, std::byte{0xee}));  // unchanged
}

TEST_P(StorageBytes, WriteBeyondTheEndFillsWithZeros) {
  write(*storage_, pattern(3), 0);
  write(*storage_, pattern(4, 9), 5000);
  EXPECT_EQ(storage_->size(), 5004);
  EXPECT_EQ(read(*storage_, 0, 3), pattern(3));
  EXPECT_EQ(read(*storage_, 3, 4997), zeros(4997));
  EXPECT_EQ(read(*storage_, 5000, 100), pattern(4, 9));
}

TEST_P(StorageBytes, LastOfOverlappingWritesStays) {
  write(*storage_, pattern(100, 1), 0);
  write(*storage_, pattern(100, 2), 50);
  write(*storage_, pattern(10, 3), 45);
  Bytes expected = pattern(100, 1);
  expected.resize(150);
  std::ranges::copy(pattern(100, 2), expected.begin() + 50);
  std::ranges::copy(pattern(10, 3), expected.begin() + 45);
  EXPECT_EQ(read(*storage_, 0, 200), expected);
}

TEST_P(StorageBytes, TransfersOfNothingChangeNothing) {
  write(*storage_, pattern(10), 0);
  for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{10}, 5 * giga}) {
    EXPECT_EQ(storage_->read_some({}, offset), 0);
    EXPECT_EQ(storage_->write_some({}, offset), 0);
  }
  EXPECT_EQ(storage_->size(), 10);
}

TEST_P(StorageBytes, MovesSeveralMegabytesAtOddOffsets) {
  const std::int64_t offset = (1 << 20) - 13;
  const Bytes bytes = pattern((3 << 20) + 29);
  write(*storage_, bytes, offset);
  EXPECT_TRUE(read(*storage_, offset, bytes.size()) == bytes);
  EXPECT_EQ(read(*storage_, 0, static_cast<std::size_t>(offset)),
            zeros(static_cast<std::size_t>(offset)));
}

TEST_P(StorageBytes, ReachesBeyondFourGibibytes) {
  // Around the bounds of 32-bit offsets, signed and not.
  for (const std::int64_t offset : {2 * giga - 3, 4 * giga - 3, 5 * giga + 1}) {
    write(*storage_, pattern(8, 5), offset);
    EXPECT_EQ(storage_->size(), offset + 8);
    EXPECT_EQ(read(*storage_, offset - 4, 20), [] {
      Bytes expected = zeros(4);
      std::ranges::copy(pattern(8, 5), std::back_inserter(expected));
      return expected;
    }()) << offset;
  }
  EXPECT_EQ(read(*storage_, 0, 100), zeros(100));
  EXPECT_EQ(read(*storage_, giga, 100), zeros(100));
}

TEST_P(StorageBytes, ResizeUpFillsWithZeros) {
  write(*storage_, pattern(10), 0);
  EXPECT_EQ(storage_->resize(6 * giga), 0);
  EXPECT_EQ(storage_->size(), 6 * giga);
  EXPECT_EQ(read(*storage_, 0, 10), pattern(10));
  EXPECT_EQ(read(*storage_, 10, 100), zeros(100));
  EXPECT_EQ(read(*storage_, 6 * giga - 100, 200), zeros(100));
}

TEST_P(StorageBytes, ResizeDownForgetsWhatWasThere) {
  const std::int64_t mebi = 1 << 20;
  for (const std::int64_t kept : {std::int64_t{0}, std::int64_t{7}, mebi, mebi + 5, 2 * mebi}) {
    write(*storage_, pattern(3 << 20), 0);
    EXPECT_EQ(storage_->resize(kept), 0);
    EXPECT_EQ(storage_->size(), kept);
    Bytes into(4);
    EXPECT_EQ(storage_->read_some(into, kept), 0);
    EXPECT_EQ(storage_->resize(4 * mebi), 0);
    const auto size = static_cast<std::size_t>(kept);
    const Bytes all = pattern(3 << 20);
    EXPECT_TRUE(read(*storage_, 0, size) == Bytes(all.begin(), all.begin() + kept)) << kept;
    EXPECT_TRUE(read(*storage_, kept, (4 << 20) - size) == zeros((4 << 20) - size)) << kept;
  }
}

TEST_P(StorageBytes, ResizeToTheSameSizeKeepsAll) {
  write(*storage_, pattern(10), 0);
  EXPECT_EQ(storage_->resize(10), 0);
  EXPECT_EQ(read(*storage_, 0, 20), pattern(10));
}

TEST_P(StorageBytes, AllocateMakesTheFileAtLeastSoLong) {
  write(*storage_, pattern(1000), 0);
  for (const std::int64_t bytes : {0, 10, 1000, 1001, 70000, 500}) {
    const std::int64_t size = std::max(storage_->size(), bytes);
    EXPECT_EQ(storage_->allocate(bytes), 0);
    EXPECT_EQ(storage_->size(), size) << bytes;
    EXPECT_EQ(read(*storage_, 0, 1000), pattern(1000));
    const auto more = static_cast<std::size_t>(size - 1000);
    EXPECT_EQ(read(*storage_, 1000, more), zeros(more));
  }
}

TEST_P(StorageBytes, NegativeOffsetsAndSizesAreRefused) {
  write(*storage_, pattern(10), 0);
  Bytes into(4);
  EXPECT_EQ(storage_->read_some(into, -1), -EINVAL);
  EXPECT_EQ(storage_->write_some(into, -1), -EINVAL);
  EXPECT_EQ(storage_->resize(-1), -EINVAL);
  EXPECT_EQ(read(*storage_, 0, 20), pattern(10));
}

TEST_P(StorageBytes, SyncSucceeds) {
  EXPECT_EQ(storage_->sync(), 0);
  write(*storage_, pattern(10), 0);
  EXPECT_EQ(storage_->sync(), 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, StorageBytes, testing::ValuesIn(all_kinds()), name_of_kind);

}  // namespace
}  // namespace penstock::test
