// What every kind of storage does alike, whatever is stacked on whatever.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <iterator>

#include "../unit/storage_temp_folder.hpp"
#include "storage/fault.hpp"
#include "storage/paced.hpp"
#include "storage/submission.hpp"
#include "support/counted.hpp"

namespace penstock {
namespace {

using namespace std::chrono_literals;
using test::pattern;
using test::zeros;
using Bytes = std::vector<std::byte>;

constexpr std::int64_t giga = std::int64_t{1} << 30;
// The fault adapter with a fault that never comes: without any it would hand back the inner one.
constexpr const char* no_fault = "read@1000000=EIO";
StorageCounts ignored_counts;

struct Kind {
  const char* name;
  // A kind that does not work here gives another storage and a notice.
  std::function<std::unique_ptr<Storage>(const std::string& path, std::string* notice)> open;
  bool shares;  // two opens of one path are one file, and lock each other out
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

std::unique_ptr<Storage> open_file(const std::string& path, std::string* = nullptr) {
  return open_posix(path, OpenFlag::create);
}

/// Fast, but with all that there is to go through.
std::unique_ptr<Storage> at_pace(std::unique_ptr<Storage> inner) {
  const Pace pace = Pace::parse("bandwidth=4G,latency=10us,writers=1,slowdown=0.1,variance=0.5");
  return keep_pace(std::move(inner), pace, std::make_shared<PaceClock>(), 0);
}

const Kind kinds[] = {
    {"posix", open_file, true},
    {"memory", [](const std::string& path, std::string*) { return make_memory_storage(path); },
     false},
    {"count_over_posix",
     [](const std::string& path, std::string*) {
       return test::count(open_file(path), ignored_counts);
     },
     true},
    {"fault_over_memory",
     [](const std::string& path, std::string*) {
       return inject_faults(make_memory_storage(path), no_fault, 0);
     },
     false},
    {"fault_over_count_over_posix",
     [](const std::string& path, std::string*) {
       return inject_faults(test::count(open_file(path), ignored_counts), no_fault, 0);
     },
     true},
    {"paced_over_posix",
     [](const std::string& path, std::string*) { return at_pace(open_file(path)); }, true},
    {"paced_over_fault_over_memory",
     [](const std::string& path, std::string*) {
       return at_pace(inject_faults(make_memory_storage(path), no_fault, 0));
     },
     false},
    {"count_over_fault_over_uring",
     [](const std::string& path, std::string* notice) {
       auto ring = open_uring(path, OpenFlag::create, false, 3, notice);
       return test::count(inject_faults(std::move(ring), no_fault, 0), ignored_counts);
     },
     true},
    {"direct",
     [](const std::string& path, std::string* notice) {
       return open_direct(path, OpenFlag::create, notice);
     },
     true},
    {"uring",
     [](const std::string& path, std::string* notice) {
       return open_uring(path, OpenFlag::create, false, 4, notice);
     },
     true},
    {"uring_direct",
     [](const std::string& path, std::string* notice) {
       return open_uring(path, OpenFlag::create, true, 4, notice);
     },
     true},
};

class StorageConformance : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (!notice_.empty()) GTEST_SKIP() << notice_;
  }
  std::unique_ptr<Storage> open() {
    notice_.clear();
    return GetParam().open(path(), &notice_);
  }
  std::string path() const { return folder_.file("file"); }

  static Bytes read(Storage& storage, std::int64_t offset, std::size_t size) {
    Bytes into(size, std::byte{0xee});
    const Transfer got = read_fully(storage, into, offset);
    EXPECT_EQ(got.error, 0);
    into.resize(static_cast<std::size_t>(got.bytes));
    return into;
  }
  static void write(Storage& storage, const Bytes& bytes, std::int64_t offset) {
    const Transfer done = write_fully(storage, bytes, offset);
    EXPECT_EQ(done.error, 0);
    EXPECT_EQ(done.bytes, static_cast<std::int64_t>(bytes.size()));
  }

  test::TempFolder folder_;
  std::string notice_;
  std::unique_ptr<Storage> storage_ = open();
};

TEST_P(StorageConformance, TellsItsPath) {
  EXPECT_EQ(storage_->path(), path());
}

TEST_P(StorageConformance, StartsEmpty) {
  EXPECT_EQ(storage_->size(), 0);
}

TEST_P(StorageConformance, GivesBackWhatWasWritten) {
  const Bytes bytes = pattern(5000);
  write(*storage_, bytes, 0);
  EXPECT_EQ(storage_->size(), 5000);
  EXPECT_EQ(read(*storage_, 0, 5000), bytes);
  EXPECT_EQ(read(*storage_, 1234, 77), Bytes(bytes.begin() + 1234, bytes.begin() + 1311));
}

TEST_P(StorageConformance, ReadPastTheEndGivesNothing) {
  write(*storage_, pattern(10), 0);
  Bytes into(4);
  EXPECT_EQ(storage_->read_some(into, 10), 0);
  EXPECT_EQ(storage_->read_some(into, 11), 0);
  EXPECT_EQ(storage_->read_some(into, 1000 * giga), 0);
  EXPECT_EQ(storage_->size(), 10);
}

TEST_P(StorageConformance, ReadAcrossTheEndIsShort) {
  const Bytes bytes = pattern(10);
  write(*storage_, bytes, 0);
  Bytes into(8, std::byte{0xee});
  EXPECT_EQ(storage_->read_some(into, 7), 3);
  EXPECT_EQ(Bytes(into.begin(), into.begin() + 3), Bytes(bytes.begin() + 7, bytes.end()));
  EXPECT_EQ(Bytes(into.begin() + 3, into.end()), Bytes(5, std::byte{0xee}));  // left alone
}

TEST_P(StorageConformance, WriteBeyondTheEndFillsWithZeros) {
  write(*storage_, pattern(3), 0);
  write(*storage_, pattern(4, 9), 5000);
  EXPECT_EQ(storage_->size(), 5004);
  EXPECT_EQ(read(*storage_, 0, 3), pattern(3));
  EXPECT_EQ(read(*storage_, 3, 4997), zeros(4997));
  EXPECT_EQ(read(*storage_, 5000, 100), pattern(4, 9));
}

TEST_P(StorageConformance, LastOfOverlappingWritesStays) {
  write(*storage_, pattern(100, 1), 0);
  write(*storage_, pattern(100, 2), 50);
  write(*storage_, pattern(10, 3), 45);
  Bytes expected = pattern(100, 1);
  expected.resize(150);
  std::ranges::copy(pattern(100, 2), expected.begin() + 50);
  std::ranges::copy(pattern(10, 3), expected.begin() + 45);
  EXPECT_EQ(read(*storage_, 0, 200), expected);
}

TEST_P(StorageConformance, TransfersOfNothingChangeNothing) {
  write(*storage_, pattern(10), 0);
  for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{10}, 5 * giga}) {
    EXPECT_EQ(storage_->read_some({}, offset), 0);
    EXPECT_EQ(storage_->write_some({}, offset), 0);
  }
  EXPECT_EQ(storage_->size(), 10);
}

TEST_P(StorageConformance, MovesSeveralMegabytesAtOddOffsets) {
  const std::int64_t offset = (1 << 20) - 13;
  const Bytes bytes = pattern((3 << 20) + 29);
  write(*storage_, bytes, offset);
  EXPECT_TRUE(read(*storage_, offset, bytes.size()) == bytes);
  EXPECT_EQ(read(*storage_, 0, static_cast<std::size_t>(offset)),
            zeros(static_cast<std::size_t>(offset)));
}

std::vector<iovec> parts_of(Bytes& bytes, const std::vector<std::size_t>& lengths) {
  std::vector<iovec> parts;
  std::size_t at = 0;
  for (const std::size_t length : lengths) {
    parts.push_back({bytes.data() + at, length});
    at += length + 3;  // places do not touch
  }
  return parts;
}

TEST_P(StorageConformance, GathersAndScattersInOneCall) {
  const std::vector<std::size_t> lengths{1, 0, 5000, 4096, 77, 300000};
  Bytes from = pattern(320000), into(320000, std::byte{0xee});
  const std::vector<iovec> sources = parts_of(from, lengths), places = parts_of(into, lengths);
  const std::int64_t size = size_of(sources);
  ASSERT_EQ(storage_->move_some(Direction::write, sources, 1001), size);
  EXPECT_EQ(storage_->size(), 1001 + size);
  ASSERT_EQ(storage_->move_some(Direction::read, places, 1001), size);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    EXPECT_EQ(std::memcmp(sources[i].iov_base, places[i].iov_base, lengths[i]), 0) << i;
    EXPECT_EQ(begin_of(places[i])[lengths[i]], std::byte{0xee}) << "behind part " << i;
  }
}

TEST_P(StorageConformance, ScatteringEndsWithTheFile) {
  const Bytes bytes = pattern(10);
  write(*storage_, bytes, 0);
  Bytes into(20, std::byte{0xee});
  const std::vector<iovec> places = parts_of(into, {4, 4, 4});
  EXPECT_EQ(storage_->move_some(Direction::read, places, 3), 7);
  EXPECT_EQ(Bytes(into.begin() + 7, into.begin() + 10), Bytes(bytes.begin() + 7, bytes.end()));
  EXPECT_EQ(into[10], std::byte{0xee});
}

TEST_P(StorageConformance, SubmittedRequestsAreDoneWhateverTheOrderOfTheWaits) {
  constexpr std::size_t count = 40;
  constexpr std::int64_t step = 70000;
  Bytes from = pattern(count * step);
  std::vector<iovec> memory;
  std::vector<IoRequest> requests(count);
  for (std::size_t i = 0; i < count; ++i)
    memory.push_back({from.data() + i * step, i % 3 == 0 ? std::size_t{4096} : 65000});
  const auto submit = [&](Direction direction) {
    for (std::size_t i = 0; i < count; ++i)
      requests[i] = {.direction = direction,
                     .offset = static_cast<std::int64_t>(i) * step,
                     .memory = {&memory[i], 1}};
    storage_->submit(requests);
    for (std::size_t i = count; i-- > 0;) {
      if (i % 2 == 0) storage_->wait(requests[i]);
      while (i % 2 != 0 && !storage_->poll(requests[i])) {
      }
      EXPECT_TRUE(requests[i].done);
      EXPECT_EQ(requests[i].result, size_of(requests[i].memory)) << i;
    }
  };
  submit(Direction::write);
  const Bytes written = from;
  std::ranges::fill(from, std::byte{0});
  submit(Direction::read);
  for (std::size_t i = 0; i < count; ++i)
    EXPECT_EQ(std::memcmp(written.data() + i * step, memory[i].iov_base, memory[i].iov_len), 0)
        << i;
}

TEST_P(StorageConformance, EachSubmittedRequestHasAnAnswerOfItsOwn) {
  write(*storage_, pattern(10000), 0);
  Bytes into(6 * 5000);
  std::vector<iovec> memory;
  std::vector<IoRequest> requests;
  const std::int64_t offsets[] = {0, 7000, -1, 10000, 5000, 50 * giga};
  for (std::size_t i = 0; i < 6; ++i) memory.push_back({into.data() + i * 5000, 5000});
  for (std::size_t i = 0; i < 6; ++i)
    requests.push_back({.offset = offsets[i], .memory = {&memory[i], 1}});
  storage_->submit(requests);
  std::vector<std::int64_t> results;
  for (IoRequest& request : requests) {
    storage_->wait(request);
    results.push_back(request.result);
  }
  EXPECT_EQ(results, (std::vector<std::int64_t>{5000, 3000, -EINVAL, 0, 5000, 0}));
}

TEST_P(StorageConformance, SubmissionsMoveAllOfEveryAccess) {
  // More parts than one system call takes, which follow each other in the file, and others that do
  // not.
  Bytes from = pattern(5000 * 20), into(5000 * 20);
  const auto add = [](Submission& accesses, Direction direction, Bytes& bytes) {
    for (std::size_t i = 0; i < 5000; ++i) {
      const std::int64_t gap = i < 4000 ? 0 : static_cast<std::int64_t>(i - 3999) * 30;
      accesses.add(direction, {bytes.data() + (4999 - i) * 20, 20},
                   static_cast<std::int64_t>(i) * 20 + gap);
    }
  };
  for (const auto& [direction, bytes] :
       {std::pair{Direction::write, &from}, {Direction::read, &into}}) {
    Submission accesses(*storage_);
    add(accesses, direction, *bytes);
    EXPECT_EQ(accesses.size(), 1001u);
    accesses.run();
    EXPECT_EQ(accesses.first_failure(), accesses.size());
    for (std::size_t i = 0; i < accesses.size(); ++i)
      ASSERT_EQ(accesses.transfer(i).bytes, accesses.range(i).length()) << i;
  }
  EXPECT_TRUE(into == from);
}

TEST_P(StorageConformance, SubmissionsEndWithTheFile) {
  write(*storage_, pattern(100), 0);
  Bytes into(300, std::byte{0xee});
  Submission accesses(*storage_);
  accesses.add(Direction::read, {into.data(), 50}, 0);
  accesses.add(Direction::read, {into.data() + 50, 50}, 80);
  accesses.add(Direction::read, {into.data() + 100, 50}, 200);
  accesses.start();
  accesses.wait();
  EXPECT_EQ(accesses.first_failure(), 3u);
  EXPECT_EQ(accesses.transfer(0).bytes, 50);
  EXPECT_EQ(accesses.transfer(1).bytes, 20);
  EXPECT_EQ(accesses.transfer(2).bytes, 0);
  accesses.fill_with_zeros();
  EXPECT_EQ(Bytes(into.begin() + 70, into.begin() + 150), zeros(80));
  EXPECT_EQ(into[150], std::byte{0xee});
}

TEST_P(StorageConformance, ReachesBeyondFourGibibytes) {
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

TEST_P(StorageConformance, ResizeUpFillsWithZeros) {
  write(*storage_, pattern(10), 0);
  EXPECT_EQ(storage_->resize(6 * giga), 0);
  EXPECT_EQ(storage_->size(), 6 * giga);
  EXPECT_EQ(read(*storage_, 0, 10), pattern(10));
  EXPECT_EQ(read(*storage_, 10, 100), zeros(100));
  EXPECT_EQ(read(*storage_, 6 * giga - 100, 200), zeros(100));
}

TEST_P(StorageConformance, ResizeDownForgetsWhatWasThere) {
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

TEST_P(StorageConformance, ResizeToTheSameSizeKeepsAll) {
  write(*storage_, pattern(10), 0);
  EXPECT_EQ(storage_->resize(10), 0);
  EXPECT_EQ(read(*storage_, 0, 20), pattern(10));
}

TEST_P(StorageConformance, NegativeOffsetsAndSizesAreRefused) {
  write(*storage_, pattern(10), 0);
  Bytes into(4);
  EXPECT_EQ(storage_->read_some(into, -1), -EINVAL);
  EXPECT_EQ(storage_->write_some(into, -1), -EINVAL);
  EXPECT_EQ(storage_->resize(-1), -EINVAL);
  EXPECT_EQ(read(*storage_, 0, 20), pattern(10));
}

TEST_P(StorageConformance, SyncSucceeds) {
  EXPECT_EQ(storage_->sync(), 0);
  write(*storage_, pattern(10), 0);
  EXPECT_EQ(storage_->sync(), 0);
}

TEST_P(StorageConformance, LocksCanBeTakenAgainAndAgain) {
  for (const LockKind kind : {LockKind::shared, LockKind::exclusive})
    for (int i = 0; i < 3; ++i) {
      int error = -1;
      EXPECT_NE(storage_->lock({10, 20}, kind, error), nullptr);
      EXPECT_EQ(error, 0);
    }
}

TEST_P(StorageConformance, LockReachesBeyondTheEndOfTheFile) {
  int error = -1;
  EXPECT_NE(storage_->lock({6 * giga, 7 * giga}, LockKind::exclusive, error), nullptr);
  EXPECT_EQ(error, 0);
}

/// Locks that others can see: only kinds where two opens of one path are one file.
class SharedStorage : public StorageConformance {
 protected:
  /// Whether another open of the file could take this lock now; takes none, waits for none.
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
  EXPECT_FALSE(free({29, 30}, LockKind::shared));  // the other one stays
  high.reset();
  EXPECT_TRUE(free({0, 100}, LockKind::exclusive));
}

TEST_P(SharedStorage, EmptyRangeExcludesNobody) {
  const auto held = take(*storage_, {10, 10}, LockKind::exclusive);
  EXPECT_TRUE(free({0, 100}, LockKind::exclusive));
  auto other = take(*storage_, {10, 20}, LockKind::exclusive);
  take(*storage_, {15, 15}, LockKind::exclusive).reset();
  EXPECT_FALSE(free({15, 20}, LockKind::shared));  // nothing was given back with it
}

TEST_P(SharedStorage, LockLeavesTransfersAlone) {
  const auto held = take(*storage_, {0, 100}, LockKind::exclusive);
  write(*other_, pattern(10), 0);  // advisory: only lockers wait
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
    // Its own open: a descriptor inherited by fork would share the parent's locks.
    const auto storage = open();
    int error = 0;
    const auto held = storage->lock({0, 100}, LockKind::exclusive, error);
    char byte = held ? 'y' : 'n';
    const bool told = ::write(news[1], &byte, 1) == 1 && ::read(leave[0], &byte, 1) == 1;
    ::_exit(told ? 0 : 1);  // the lock goes with the process, as when a rank is killed
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

std::vector<Kind> sharing_kinds() {
  std::vector<Kind> sharing;
  for (const Kind& kind : kinds)
    if (kind.shares) sharing.push_back(kind);
  return sharing;
}

const auto name_of_kind = [](const testing::TestParamInfo<Kind>& info) {
  return std::string(info.param.name);
};

INSTANTIATE_TEST_SUITE_P(Kinds, StorageConformance, testing::ValuesIn(kinds), name_of_kind);
INSTANTIATE_TEST_SUITE_P(Kinds, SharedStorage, testing::ValuesIn(sharing_kinds()), name_of_kind);

}  // namespace
}  // namespace penstock
