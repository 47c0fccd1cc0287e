// Whether patterns share a byte, compared with the bytes themselves.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "support/random.hpp"
#include "support/random_patterns.hpp"

using namespace penstock;
using test::Random;

namespace {

Apart apart(const std::vector<FilePattern>& patterns) {
  std::vector<const FilePattern*> all;
  for (const FilePattern& pattern : patterns) all.push_back(&pattern);
  return are_apart(all);
}

class RandomApart : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomApart, testing::Range(0, 500));

TEST_P(RandomApart, IsTrueOfPatternsWithoutACommonByte) {
  Random r{std::mt19937_64(static_cast<std::uint64_t>(GetParam()))};
  std::vector<FilePattern> patterns;
  std::set<std::int64_t> bytes;
  std::int64_t count = 0;
  for (std::int64_t i = r.in(2, 4); i > 0; --i) {
    const test::Drawn drawn = test::draw_ascending(r, 3);
    const std::int64_t by = r.in(0, 40);
    patterns.emplace_back(drawn.nest.moved(by));
    for (const std::int64_t place : drawn.places) bytes.insert(place + by);
    count += std::ssize(drawn.places);
  }
  EXPECT_EQ(apart(patterns), std::ssize(bytes) == count ? Apart::yes : Apart::no);
}

/// Columns of a square of 4-byte elements, distributed in turn.
std::vector<FilePattern> dealt(std::int64_t ranks, std::int64_t edge, std::int64_t longer = 0) {
  std::vector<FilePattern> patterns;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const std::int64_t length = 4 + (rank == ranks / 2 ? longer : 0);
    const Nest row = Nest::repeat(Nest::run(rank * 4, length), edge / ranks, ranks * 4 + longer);
    patterns.emplace_back(Nest::repeat(row, edge, edge * (4 + longer)));
  }
  return patterns;
}

TEST(Apart, OfThousandsOfRanks) {
  EXPECT_EQ(apart(dealt(64, 1 << 20)), Apart::yes);
  EXPECT_EQ(apart(dealt(64, 1 << 20, 1)), Apart::no);
  EXPECT_EQ(apart(dealt(512, 1 << 18)), Apart::yes);
  std::vector<FilePattern> slabs;
  for (std::int64_t i = 0; i < 5000; ++i) slabs.push_back(FilePattern::run({i * 10, i * 10 + 10}));
  EXPECT_EQ(apart(slabs), Apart::yes);
  slabs.push_back(FilePattern::run({777, 778}));
  EXPECT_EQ(apart(slabs), Apart::no);
}

TEST(Apart, TheLastOfARowMayMeetTheFirstOfAnother) {
  const Nest row = Nest::repeat(Nest::run(0, 2), 3, 10);  // 0, 10, 20
  const FilePattern rows(Nest::repeat(row, 2, 100));
  const FilePattern before(Nest::repeat(row, 2, 100).moved(80));  // 180, 190, 200: not below 220
  EXPECT_EQ(apart({rows, before}), Apart::no);                    // 100
  const FilePattern between(Nest::repeat(row, 2, 100).moved(75));
  EXPECT_EQ(apart({rows, between}), Apart::yes);
}

TEST(Apart, GivesUpInTime) {
  // No common step: all children have to be compared.
  std::vector<std::int64_t> odd, even, lengths(100000, 1);
  for (std::int64_t i = 0; i < 100000; ++i) {
    odd.push_back(i * 20 + i % 3 * 2 + 1);
    even.push_back(i * 20 + i % 5 * 2);
  }
  EXPECT_EQ(
      apart({FilePattern(Nest::table(odd, lengths)), FilePattern(Nest::table(even, lengths))}),
      Apart::unknown);
}

}  // namespace
