// Behaviour that all kinds of storage share: memory in several places, and several accesses
// submitted together.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "storage/submission.hpp"
#include "storage_kinds.hpp"

namespace penstock::test {
namespace {

class StorageRequests : public StorageConformance {};

std::vector<iovec> parts_of(Bytes& bytes, const std::vector<std::size_t>& lengths) {
  std::vector<iovec> parts;
  std::size_t at = 0;
  for (const std::size_t length : lengths) {
    parts.push_back({bytes.data() + at, length});
    at += length + 3;  // not adjacent
  }
  return parts;
}

TEST_P(StorageRequests, GathersAndScattersInOneCall) {
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

TEST_P(StorageRequests, ScatteringEndsWithTheFile) {
  const Bytes bytes = pattern(10);
  write(*storage_, bytes, 0);
  Bytes into(20, std::byte{0xee});
  const std::vector<iovec> places = parts_of(into, {4, 4, 4});
  EXPECT_EQ(storage_->move_some(Direction::read, places, 3), 7);
  EXPECT_EQ(Bytes(into.begin() + 7, into.begin() + 10), Bytes(bytes.begin() + 7, bytes.end()));
  EXPECT_EQ(into[10], std::byte{0xee});
}

TEST_P(StorageRequests, SubmittedRequestsAreDoneWhateverTheOrderOfTheWaits) {
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

TEST_P(StorageRequests, EachSubmittedRequestHasAnAnswerOfItsOwn) {
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

TEST_P(StorageRequests, SubmissionsMoveAllOfEveryAccess) {
  // More parts than one system call takes, contiguous in the file or not.
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

TEST_P(StorageRequests, SubmissionsEndWithTheFile) {
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

INSTANTIATE_TEST_SUITE_P(Kinds, StorageRequests, testing::ValuesIn(all_kinds()), name_of_kind);

}  // namespace
}  // namespace penstock::test
