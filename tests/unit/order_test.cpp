// The order of a nest's bytes, and file patterns of nests that do not ascend, compared with the
// list of their runs.
#include <gtest/gtest.h>

#include <random>

#include <penstock/error.hpp>

#include "pattern/order.hpp"
#include "support/random.hpp"
#include "support/random_patterns.hpp"

using namespace penstock;
using test::Random;

namespace {

/// In any order, with repeated bytes.
Nest draw_any(Random& r, int depth) {
  if (depth == 0 || r.in(0, 4) == 0) return test::draw_ascending(r, 2).nest;
  const std::int64_t count = r.in(1, 4);
  switch (r.in(0, 3)) {
    case 0: return Nest::repeat(draw_any(r, depth - 1), count, r.in(-30, 60));
    case 1: {
      std::vector<std::int64_t> places;
      for (std::int64_t i = 0; i < count; ++i) places.push_back(r.in(-50, 50));
      return Nest::list(draw_any(r, depth - 1), places);
    }
    case 2: {
      std::vector<std::int64_t> places, lengths;
      for (std::int64_t i = 0; i < count; ++i) {
        places.push_back(r.in(-20, 20) + 10 * i);
        lengths.push_back(r.in(0, 12));
      }
      return Nest::table(places, lengths);
    }
    default: {
      std::vector<Nest> parts;
      for (std::int64_t i = 0; i < count; ++i)
        parts.push_back(draw_any(r, depth - 1).moved(r.in(-10, 60) * i));
      return Nest::sequence(parts);
    }
  }
}

class RandomOrders : public testing::TestWithParam<int> {
 protected:
  Random r{std::mt19937_64(static_cast<std::uint64_t>(GetParam()))};
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomOrders, testing::Range(0, 1000));

struct Runs {
  bool descends = false, overlaps = false;
  std::size_t turns = 0;
};

Runs runs_of(const Nest& nest) {
  Runs runs;
  NestCursor cursor(nest, 0, nest.size());
  bool first = true;
  std::int64_t begin = 0, end = 0, most = 0;
  for (Strided s; cursor.next(s);)
    for (std::int64_t i = 0; i < s.count; ++i) {
      const std::int64_t place = s.place + i * s.step;
      if (!first) {
        runs.descends = runs.descends || place < begin;
        runs.overlaps = runs.overlaps || place < most;
        if (place < end) ++runs.turns;
      }
      begin = place;
      end = place + s.run;
      most = first ? end : std::max(most, end);
      first = false;
    }
  return runs;
}

TEST_P(RandomOrders, AreThoseOfTheirRuns) {
  const Nest nest = draw_any(r, 3);
  const Runs runs = runs_of(nest);
  const StreamOrder order = stream_order(nest);
  EXPECT_EQ(order.descends, runs.descends);
  EXPECT_EQ(order.ascends(), runs.turns == 0);
  if (!runs.descends) {
    EXPECT_EQ(order.overlaps, runs.overlaps);
  }
  EXPECT_TRUE(!order.descends || order.place < order.before);
}

TEST_P(RandomOrders, MakeAPatternForEachTurn) {
  const Nest nest = draw_any(r, 3).moved(100000);
  AscendingParts parts;
  parts.add(nest);
  test::Places all;
  const std::vector<FilePattern> patterns = parts.take();
  for (const FilePattern& pattern : patterns) {
    EXPECT_NO_THROW(FilePattern(pattern.nest()));
    const auto places = test::places_of(pattern.nest(), 0, pattern.size());
    all.insert(all.end(), places.begin(), places.end());
  }
  EXPECT_EQ(all, test::places_of(nest, 0, nest.size()));
  EXPECT_EQ(patterns.size(), nest.empty() ? 0 : 1 + runs_of(nest).turns);
  EXPECT_TRUE(parts.take().empty());
}

TEST(Orders, ThatTurnWithoutEndAreRefused) {
  AscendingParts parts;
  EXPECT_THROW(parts.add(Nest::repeat(Nest::run(0, 8), 1 << 30, 4)), Error);
  AscendingParts one_by_one;
  for (std::size_t i = 0; i < AscendingParts::most; ++i) one_by_one.add(Nest::run(0, 8));
  one_by_one.add(Nest::run(0, 8));
  EXPECT_THROW(one_by_one.take(), Error);
}

TEST(Orders, OfWhatIsDescribedAreNotListed) {
  const Nest column = Nest::repeat(Nest::run(0, 8), std::int64_t{1} << 40, 1000);
  EXPECT_TRUE(stream_order(column).ascends());
  AscendingParts parts;
  parts.add(column);
  EXPECT_EQ(parts.take().size(), 1U);
}

}  // namespace
