// Submission: accesses in flight together, what it completes, and the results of each.
#include "storage/submission.hpp"

#include <gtest/gtest.h>

#include <map>

#include "storage/fault.hpp"
#include "storage_scripted.hpp"
#include "storage_temp_folder.hpp"
#include "support/counted.hpp"

namespace penstock {
namespace {

using test::pattern;
using test::ScriptedStorage;
using Bytes = std::vector<std::byte>;
using Calls = std::vector<ScriptedStorage::Call>;

/// Completes each request at the second poll.
class LaterStorage : public ScriptedStorage {
 public:
  using ScriptedStorage::ScriptedStorage;
  bool completes_later() const override { return true; }
  void submit(std::span<IoRequest> requests) override {
    submissions.push_back(requests.size());
    for (IoRequest& request : requests) {
      answers_[&request] = move_some(request.direction, request.memory, request.offset);
      asked_[&request] = 0;
    }
  }
  bool poll(IoRequest& request) override {
    if (++asked_.at(&request) < 2) return false;
    wait(request);
    return true;
  }
  void wait(IoRequest& request) override {
    request.result = answers_.at(&request);
    request.done = true;
    answers_.erase(&request);  // another poll would return false
    asked_.erase(&request);
  }
  std::size_t under_way() const { return answers_.size(); }

  std::vector<std::size_t> submissions;

 private:
  std::map<IoRequest*, std::int64_t> answers_;
  std::map<IoRequest*, int> asked_;
};

void add(Submission& accesses, Direction direction, Bytes& bytes, std::size_t begin,
         std::size_t size, std::int64_t offset) {
  accesses.add(direction, {bytes.data() + begin, size}, offset);
}

TEST(Submission, OfNothingCallsNothing) {
  LaterStorage storage(std::deque<std::int64_t>{});
  Submission accesses(storage);
  accesses.add(Direction::write, {}, 5);
  EXPECT_EQ(accesses.size(), 0u);
  accesses.run();
  EXPECT_TRUE(accesses.poll());
  EXPECT_TRUE(storage.calls().empty());
}

TEST(Submission, MemoryOfAdjacentBytesIsOneAccess) {
  Bytes bytes = pattern(100);
  ScriptedStorage storage({30, 10, 5});
  Submission accesses(storage);
  add(accesses, Direction::write, bytes, 50, 10, 0);
  add(accesses, Direction::write, bytes, 60, 10, 10);  // adjacent in memory as well
  add(accesses, Direction::write, bytes, 0, 10, 20);
  add(accesses, Direction::write, bytes, 10, 10, 31);
  EXPECT_EQ(accesses.parts(), 3u);
  add(accesses, Direction::read, bytes, 20, 5, 41);  // adjacent, but in the other direction
  EXPECT_EQ(accesses.size(), 3u);
  accesses.run();
  EXPECT_EQ(storage.calls(), (Calls{{0, 30}, {31, 10}, {41, 5}}));
  Bytes expected(bytes.begin() + 50, bytes.begin() + 70);
  expected.insert(expected.end(), bytes.begin(), bytes.begin() + 20);
  EXPECT_EQ(storage.written(), expected);
}

TEST(Submission, GoesOnInTheMiddleOfAPart) {
  Bytes bytes = pattern(100);
  ScriptedStorage storage({13, -EINTR, 10, 7});
  Submission accesses(storage);
  for (const std::size_t begin : {80u, 40u, 0u})
    add(accesses, Direction::write, bytes, begin, 10, 100 + (80 - begin) / 4);
  ASSERT_EQ(accesses.size(), 1u);
  accesses.run();
  EXPECT_EQ(storage.calls(), (Calls{{100, 30}, {113, 17}, {113, 17}, {123, 7}}));
  Bytes expected(bytes.begin() + 80, bytes.begin() + 90);
  expected.insert(expected.end(), bytes.begin() + 40, bytes.begin() + 50);
  expected.insert(expected.end(), bytes.begin(), bytes.begin() + 10);
  EXPECT_EQ(storage.written(), expected);
}

TEST(Submission, WithoutCompletionsNothingFollowsAFailure) {
  Bytes bytes = pattern(100);
  ScriptedStorage storage({10, 4, -ENOSPC});
  Submission accesses(storage);
  for (const std::int64_t offset : {0, 20, 40})
    add(accesses, Direction::write, bytes, 0, 10, offset);
  accesses.start();
  EXPECT_TRUE(accesses.poll());
  EXPECT_EQ(accesses.first_failure(), 1u);
  EXPECT_EQ(accesses.transfer(1).bytes, 4);
  EXPECT_EQ(accesses.transfer(1).error, ENOSPC);
  EXPECT_EQ(accesses.transfer(2).bytes, 0);
  EXPECT_EQ(accesses.transfer(2).error, 0);
  EXPECT_EQ(storage.calls().size(), 3u);
}

TEST(Submission, IsHandedOverAtOnceAndFinishesEachAccess) {
  Bytes bytes(100);
  LaterStorage storage({10, 6, 3, -EINTR, 0, 4, 3});
  Submission accesses(storage);
  for (const std::int64_t offset : {0, 20, 40})
    add(accesses, Direction::read, bytes, static_cast<std::size_t>(offset), 10, offset);
  accesses.start();
  EXPECT_EQ(storage.under_way(), 3u);
  int polls = 1;
  while (!accesses.poll()) ++polls;
  EXPECT_GT(polls, 3);  // no poll waits
  EXPECT_EQ(accesses.first_failure(), 3u);
  // The second continues until the file ends; the third runs after that.
  EXPECT_EQ(storage.calls(),
            (Calls{{0, 10}, {20, 10}, {40, 10}, {26, 4}, {26, 4}, {43, 7}, {47, 3}}));
  EXPECT_EQ(storage.submissions, (std::vector<std::size_t>{3, 1, 1, 1, 1}));
  EXPECT_EQ(accesses.transfer(1).bytes, 6);
  EXPECT_EQ(accesses.transfer(2).bytes, 10);
}

TEST(Submission, TellsTheErrorOfEachAccess) {
  Bytes bytes = pattern(100);
  LaterStorage storage({10, -EIO, 0, -ENOSPC});
  Submission accesses(storage);
  for (const std::int64_t offset : {0, 20, 40, 60})
    add(accesses, Direction::write, bytes, 0, 10, offset);
  accesses.start();
  accesses.wait();
  EXPECT_EQ(accesses.first_failure(), 1u);
  EXPECT_EQ(accesses.transfer(0).bytes, 10);
  EXPECT_EQ(accesses.transfer(1).error, EIO);
  EXPECT_EQ(accesses.transfer(2).error, EIO);  // a write of nothing
  EXPECT_EQ(accesses.transfer(3).error, ENOSPC);
}

TEST(Submission, OneThatIsLetGoOfIsWaitedFor) {
  Bytes bytes = pattern(100);
  LaterStorage storage({10, 10});
  {
    Submission accesses(storage);
    add(accesses, Direction::write, bytes, 0, 10, 0);
    add(accesses, Direction::write, bytes, 0, 10, 20);
    accesses.start();
    EXPECT_EQ(storage.under_way(), 2u);
  }
  EXPECT_EQ(storage.under_way(), 0u);
}

TEST(Submission, IsUsedAgainOnceItIsCleared) {
  Bytes bytes = pattern(100), into(20);
  const auto storage = make_memory_storage("m");
  Submission accesses(*storage);
  add(accesses, Direction::write, bytes, 0, 20, 0);
  accesses.run();
  accesses.clear();
  EXPECT_EQ(accesses.size(), 0u);
  add(accesses, Direction::read, into, 0, 20, 0);
  accesses.run();
  EXPECT_TRUE(std::equal(into.begin(), into.end(), bytes.begin()));
}

TEST(SubmissionFaults, BelongToOneAccess) {
  const test::TempFolder folder;
  Bytes bytes = pattern(4 << 20);
  std::string notice;
  for (const char* const kind : {"memory", "uring"}) {
    auto inner = kind[0] == 'm'
                     ? make_memory_storage("m")
                     : open_uring(folder.file("file"), OpenFlag::create, false, 2, &notice);
    const auto storage =
        inject_faults(std::move(inner), "write@1=short,write@2=EINTR,write@3=EIO", 0);
    Submission accesses(*storage);
    for (std::size_t i = 0; i < 4; ++i)
      add(accesses, Direction::write, bytes, i << 20, 1 << 20, static_cast<std::int64_t>(i) << 21);
    accesses.start();
    accesses.wait();
    const std::size_t failed = accesses.first_failure();
    ASSERT_LT(failed, 4u) << kind;
    EXPECT_EQ(accesses.transfer(failed).error, EIO);
    for (std::size_t i = 0; i < failed; ++i)
      EXPECT_EQ(accesses.transfer(i).bytes, 1 << 20) << kind << i;
    if (!storage->completes_later()) continue;
    for (std::size_t i = failed + 1; i < 4; ++i)
      EXPECT_EQ(accesses.transfer(i).bytes, 1 << 20) << "what is under way goes on";
  }
}

TEST(SubmissionCounts, EachAccessIsCountedOnceWithWhatItMoved) {
  StorageCounts counts;
  const auto storage =
      test::count(std::make_unique<LaterStorage>(std::deque<std::int64_t>{10, 4, -EIO, 6}), counts);
  Bytes bytes(100);
  Submission accesses(*storage);
  for (const std::int64_t offset : {0, 20, 40})
    add(accesses, Direction::write, bytes, 0, 10, offset);
  accesses.start();
  while (!accesses.poll()) {
  }
  EXPECT_EQ(counts.writes, 4);
  EXPECT_EQ(counts.bytes_written, 20);
  EXPECT_EQ(counts.reads, 0);
}

}  // namespace
}  // namespace penstock
