// Injected faults: the specification's grammar, and which calls fail.
#include <gtest/gtest.h>

#include <penstock/error.hpp>

#include "storage/fault.hpp"
#include "storage_temp_folder.hpp"

namespace penstock {
namespace {

using test::pattern;

std::unique_ptr<Storage> faulty(std::string_view spec, int rank = 0) {
  return inject_faults(make_memory_storage("m", 100), spec, rank);
}

std::vector<std::int64_t> read_results(Storage& storage, int calls, std::size_t size = 8) {
  std::vector<std::int64_t> results;
  std::vector<std::byte> into(size);
  for (int i = 0; i < calls; ++i) results.push_back(storage.read_some(into, 0));
  return results;
}

using Results = std::vector<std::int64_t>;

TEST(Faults, HitTheCallOfTheirIndexOnly) {
  EXPECT_EQ(read_results(*faulty("read@1=EIO"), 4), (Results{8, -EIO, 8, 8}));
}

TEST(Faults, PlusHitsAllLaterCalls) {
  EXPECT_EQ(read_results(*faulty("read@2+=ENOSPC"), 4), (Results{8, 8, -ENOSPC, -ENOSPC}));
}

TEST(Faults, StarHitsEveryCall) {
  EXPECT_EQ(read_results(*faulty("read@*=EAGAIN"), 3), (Results{-EAGAIN, -EAGAIN, -EAGAIN}));
}

TEST(Faults, ClausesAddUpAndTheFirstCounts) {
  EXPECT_EQ(read_results(*faulty("read@0=EINTR,read@2=EIO,read@2+=EDQUOT"), 4),
            (Results{-EINTR, 8, -EIO, -EDQUOT}));
}

TEST(Faults, EveryOperationHasItsOwnCount) {
  const auto storage = faulty("write@1=ENOSPC,sync@0=EIO,resize@0=EDQUOT,size@1=EIO,lock@0=ENOLCK");
  EXPECT_EQ(read_results(*storage, 3), (Results{8, 8, 8}));
  EXPECT_EQ(storage->write_some(pattern(4), 0), 4);
  EXPECT_EQ(storage->write_some(pattern(4), 0), -ENOSPC);
  EXPECT_EQ(storage->sync(), -EIO);
  EXPECT_EQ(storage->sync(), 0);
  EXPECT_EQ(storage->resize(50), -EDQUOT);
  EXPECT_EQ(storage->size(), 100);
  EXPECT_EQ(storage->size(), -EIO);
  int error = 0;
  EXPECT_EQ(storage->lock({0, 1}, LockKind::shared, error), nullptr);
  EXPECT_EQ(error, ENOLCK);
  EXPECT_NE(storage->lock({0, 1}, LockKind::shared, error), nullptr);
  EXPECT_EQ(error, 0);
}

TEST(Faults, FailedWriteLeavesTheStorageAlone) {
  const auto storage = faulty("write@0=EIO");
  EXPECT_EQ(storage->write_some(pattern(10), 95), -EIO);
  EXPECT_EQ(storage->size(), 100);
}

TEST(Faults, ShortMovesHalfButAtLeastOneByte) {
  EXPECT_EQ(read_results(*faulty("read@0=short"), 2, 9), (Results{4, 9}));
  EXPECT_EQ(read_results(*faulty("read@*=short"), 1, 1), (Results{1}));
  EXPECT_EQ(read_results(*faulty("read@*=short"), 1, 0), (Results{0}));
  const auto storage = faulty("write@0=short");
  EXPECT_EQ(storage->write_some(pattern(10), 95), 5);
  EXPECT_EQ(storage->size(), 100);
}

TEST(Faults, RankLimitsTheWholeSpecification) {
  EXPECT_EQ(read_results(*faulty("rank=2,read@*=EIO", 2), 1), (Results{-EIO}));
  EXPECT_EQ(read_results(*faulty("read@*=EIO,rank=2", 2), 1), (Results{-EIO}));
  EXPECT_EQ(read_results(*faulty("read@*=EIO,rank=2", 1), 1), (Results{8}));
}

TEST(Faults, OfAnotherRankLeaveTheStorageItself) {
  auto inner = make_memory_storage("m");
  Storage* const before = inner.get();
  EXPECT_EQ(inject_faults(std::move(inner), "read@*=EIO,rank=3", 0).get(), before);
}

TEST(Faults, KeepThePath) {
  EXPECT_EQ(faulty("read@0=EIO")->path(), "m");
}

class BadSpec : public testing::TestWithParam<const char*> {};

TEST_P(BadSpec, ShowsTheGrammar) {
  for (const int rank : {0, 1}) {  // malformed on every rank, also for faults of another rank
    try {
      inject_faults(make_memory_storage("m"), GetParam(), rank);
      ADD_FAILURE() << "accepted on rank " << rank;
    } catch (const Error& error) {
      EXPECT_EQ(error.error_class(), ErrorClass::argument);
      EXPECT_NE(std::string(error.what()).find("OP@N=WHAT"), std::string::npos) << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Specs, BadSpec,
    testing::Values("", ",", "read", "read@0", "read=EIO", "read@=EIO", "read@+=EIO", "read@-1=EIO",
                    "read@1x=EIO", "read@**=EIO", "read@0=", "read@0=EPERM", "read@0=eio",
                    "open@0=EIO", "@0=EIO", "read@0=EIO,", ",read@0=EIO", "read@0=EIO,,sync@0=EIO",
                    "read@0=EIO sync@0=EIO", "read @0=EIO", "rank=", "rank=x", "rank=-1",
                    "rank=99999999999", "rank=0,rank=0,read@0=EIO", "read@99999999999999999999=EIO",
                    "sync@0=short", "size@0=short", "resize@*=short", "lock@0=short",
                    "read=EIO@0"));

}  // namespace
}  // namespace penstock
