// The addresses of the active buffer: ranges in use do not overlap, and all of what is returned is
// reused.
#include "background/arena.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/random.hpp"

namespace penstock {
namespace {

constexpr std::int64_t page = 4096, far = std::int64_t{1} << 27;

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::int64_t with_padding(std::int64_t bytes) {
  return round_up(bytes, bytes < page ? 64 : page);
}

struct RandomArena : testing::TestWithParam<unsigned> {
  Arena arena;
  std::map<std::int64_t, std::int64_t> in_use;  // offset, bytes

  std::int64_t end() const {
    return in_use.empty() ? 0 : in_use.rbegin()->first + with_padding(in_use.rbegin()->second);
  }
  /// If a free range is long enough, the lowest one has to be found.
  std::int64_t lowest_for(std::int64_t bytes) const {
    const std::int64_t whole = with_padding(bytes), unit = whole < page ? 64 : page;
    std::int64_t at = 0;
    for (const auto& [offset, taken] : in_use) {
      if (round_up(at, unit) + whole <= offset) break;
      at = offset + with_padding(taken);
    }
    return round_up(at, unit);
  }
  void take(std::int64_t bytes) {
    const std::int64_t lowest = lowest_for(bytes), begin = arena.take(bytes, far);
    ASSERT_EQ(begin, lowest) << bytes << " bytes";
    in_use[begin] = bytes;
  }
  void give(std::int64_t number) {
    const auto at = std::next(in_use.begin(), number);
    arena.give(at->first, at->second);
    in_use.erase(at);
  }
};

TEST_P(RandomArena, GivesTheLowestFreeRange) {
  test::Random r{std::mt19937_64(GetParam())};
  ASSERT_TRUE(arena.open());
  for (int step = 0; step < 400; ++step) {
    const auto ranges = static_cast<std::int64_t>(in_use.size());
    if (ranges == 0 || r.chance(ranges < 40 ? 60 : 30))
      take(r.chance(50) ? r.in(1, page - 1) : r.in(page, 20 * page));
    else give(r.in(0, ranges - 1));
    if (HasFatalFailure()) FAIL() << "step " << step;
    if (r.chance(5)) arena.trim(end());
  }
  while (!in_use.empty()) give(0);
  take(64 * page);  // as one piece, from the beginning
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomArena, testing::Range(1u, 21u));

TEST(Arena, HasNoRangeBeyondItsEnd) {
  Arena arena;
  ASSERT_TRUE(arena.open());
  EXPECT_EQ(arena.take(2 * page, page), Arena::none);
  EXPECT_EQ(arena.take(page, page), 0);
  EXPECT_EQ(arena.take(1, page), Arena::none);
  arena.give(0, page);
  EXPECT_EQ(arena.take(page, page), 0);
}

}  // namespace
}  // namespace penstock
