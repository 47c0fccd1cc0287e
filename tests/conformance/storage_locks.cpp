// Behaviour that all kinds of storage share: locks.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <future>

#include "storage_kinds.hpp"

namespace penstock::test {
namespace {

using namespace std::chrono_literals;

class StorageLocks : public StorageConformance {};

TEST_P(StorageLocks, LocksCanBeTakenAgainAndAgain) {
  for (const LockKind kind : {LockKind::shared, LockKind::exclusive})
    for (int i = 0; i < 3; ++i) {
      int error = -1;
      EXPECT_NE(storage_->lock({10, 20}, kind, error), nullptr);
      EXPECT_EQ(error, 0);
    }
}

TEST_P(StorageLocks, LockReachesBeyondTheEndOfTheFile) {
  int error = -1;
  EXPECT_NE(storage_->lock({6 * giga, 7 * giga}, LockKind::exclusive, error), nullptr);
  EXPECT_EQ(error, 0);
}

/// Locks that others can see: only kinds where two opens of one path are one file.
class SharedStorage : public StorageConformance {
 protected:
  /// Whether another open of the file could take this lock now; neither takes it nor waits.
  bool free(Extent range, LockKind kind) const {
    const int fd = ::open(path().c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_GE(fd, 0);
    struct flock wanted {};
    wanted.l_type = kind == LockKind::shared ? F_RDLCK : F_WRLCK;
    wanted.l_start = range.begin;
    wanted.l_len = range.length();
    EXPECT_EQ(::fcntl(fd, F_OFD_GETLK, &wanted), 0);
    ::close(fd);
    return wanted.l_type == F_UNLCK;
  }
  static std::unique_ptr<RangeLock> take(Storage& storage, Extent range, LockKind kind) {
    int error = 0;
    auto held = storage.lock(range, kind, error);
    EXPECT_NE(held, nullptr) << error;
    return held;
  }

  std::unique_ptr<Storage> other_ = open();
};

TEST_P(SharedStorage, TwoOpensAreOneFile) {
  write(*storage_, pattern(10), 0);
  EXPECT_EQ(other_->size(), 10);
  EXPECT_EQ(read(*other_, 0, 20), pattern(10));
}

TEST_P(SharedStorage, SharedLocksCoexist) {
  const auto mine = take(*storage_, {0, 100}, LockKind::shared);
  ASSERT_TRUE(free({50, 150}, LockKind::shared));
  const auto theirs = take(*other_, {50, 150}, LockKind::shared);
  EXPECT_FALSE(free({60, 70}, LockKind::exclusive));
}

TEST_P(SharedStorage, ExclusiveLockExcludesBothKinds) {
  const auto held = take(*storage_, {10, 20}, LockKind::exclusive);
  EXPECT_FALSE(free({10, 20}, LockKind::exclusive));
  EXPECT_FALSE(free({0, 11}, LockKind::shared));
  EXPECT_FALSE(free({19, 30}, LockKind::shared));
}

TEST_P(SharedStorage, DisjointExclusiveLocksCoexist) {
  const auto mine = take(*storage_, {10, 20}, LockKind::exclusive);
  ASSERT_TRUE(free({0, 10}, LockKind::exclusive));
  ASSERT_TRUE(free({20, 30}, LockKind::exclusive));
  const auto below = take(*other_, {0, 10}, LockKind::exclusive);
  const auto above = take(*other_, {20, 30}, LockKind::exclusive);
  EXPECT_FALSE(free({5, 6}, LockKind::shared));
}

TEST_P(SharedStorage, DestructionGivesTheLockBack) {
  auto low = take(*storage_, {0, 10}, LockKind::exclusive);
  auto high = take(*storage_, {20, 30}, LockKind::exclusive);
  low.reset();
  EXPECT_TRUE(free({0, 20}, LockKind::exclusive));
  EXPECT_FALSE(free({29, 30}, LockKind::shared));  // the other one is kept
  high.reset();
  EXPECT_TRUE(free({0, 100}, LockKind::exclusive));
}

TEST_P(SharedStorage, EmptyRangeExcludesNobody) {
  const auto held = take(*storage_, {10, 10}, LockKind::exclusive);
  EXPECT_TRUE(free({0, 100}, LockKind::exclusive));
  auto other = take(*storage_, {10, 20}, LockKind::exclusive);
  take(*storage_, {15, 15}, LockKind::exclusive).reset();
  EXPECT_FALSE(free({15, 20}, LockKind::shared));  // nothing was released with it
}

TEST_P(SharedStorage, LockLeavesTransfersAlone) {
  const auto held = take(*storage_, {0, 100}, LockKind::exclusive);
  write(*other_, pattern(10), 0);  // advisory: writes without a lock do not wait
  EXPECT_EQ(read(*storage_, 0, 10), pattern(10));
}

TEST_P(SharedStorage, WaitsForAnotherOpenInThisProcess) {
  auto held = take(*storage_, {0, 100}, LockKind::exclusive);
  auto waiting = std::async(std::launch::async, [&] {
    return take(*other_, {50, 60}, LockKind::shared);
  });
  EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
  held.reset();
  EXPECT_NE(waiting.get(), nullptr);
}

TEST_P(SharedStorage, WaitsForAnotherProcess) {
  int news[2], leave[2];
  ASSERT_EQ(::pipe(news), 0);
  ASSERT_EQ(::pipe(leave), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // A separate open: a descriptor inherited by fork would share the parent's locks.
    const auto storage = open();
    int error = 0;
    const auto held = storage->lock({0, 100}, LockKind::exclusive, error);
    char byte = held ? 'y' : 'n';
    const bool received = ::write(news[1], &byte, 1) == 1 && ::read(leave[0], &byte, 1) == 1;
    ::_exit(received ? 0 : 1);  // the lock ends with the process, as when a rank is killed
  }
  char byte = 0;
  ASSERT_EQ(::read(news[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  EXPECT_FALSE(free({0, 1}, LockKind::shared));
  auto waiting = std::async(std::launch::async, [&] {
    return take(*storage_, {50, 60}, LockKind::exclusive);
  });
  EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
  EXPECT_EQ(::write(leave[1], &byte, 1), 1);
  EXPECT_NE(waiting.get(), nullptr);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (const int fd : {news[0], news[1], leave[0], leave[1]}) ::close(fd);
}

INSTANTIATE_TEST_SUITE_P(Kinds, StorageLocks, testing::ValuesIn(all_kinds()), name_of_kind);
INSTANTIATE_TEST_SUITE_P(Kinds, SharedStorage, testing::ValuesIn(sharing_kinds()), name_of_kind);

}  // namespace
}  // namespace penstock::test
