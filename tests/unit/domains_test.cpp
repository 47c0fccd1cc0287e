#include <gtest/gtest.h>

#include <random>

#include "array/layout.hpp"
#include "plan/domains.hpp"
#include "plan/plan.hpp"

using namespace penstock;

namespace {

class RandomDomains : public testing::TestWithParam<int> {};

TEST_P(RandomDomains, WindowsAreADisjointCoverOfTheSpan) {
  std::mt19937_64 engine(static_cast<std::uint64_t>(GetParam()));
  const auto in = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(high - low + 1));
  };
  const ArrayLayout layout{
      {in(1, 20), in(1, 20)}, in(1, 5), in(0, 1) ? Order::c : Order::fortran, in(0, 50)};
  const std::int64_t begin = in(layout.offset, layout.extent().end - 1);
  const Extent span{begin, in(begin, layout.extent().end)};
  const DomainRule rules[] = {DomainRule::static_, DomainRule::dynamic, DomainRule::block_cyclic,
                              DomainRule::aligned};
  const Domains d =
      Domains::cut(rules[in(0, 3)], layout.units(), span, in(1, 9), in(1, 200), in(1, 120));
  std::vector<std::int64_t> owner(static_cast<std::size_t>(span.end), -1);
  for (std::int64_t a = 0; a < d.aggregators(); ++a) {
    std::int64_t last = -1;
    for (std::int64_t round = 0; round < d.rounds(a); ++round) {
      const Extent window = d.window(a, round);
      EXPECT_LE(window.length(), d.longest_window());
      EXPECT_LE(window.length(), d.buffer());
      if (window.empty()) continue;
      EXPECT_GT(window.begin, last);
      last = window.end - 1;
      for (auto x = window.begin; x < window.end; ++x) {
        EXPECT_EQ(owner[x], -1) << "byte in two windows";
        owner[x] = a;
        EXPECT_EQ(d.owner(x), a);
        EXPECT_EQ(d.round_at(a, x), round);
        EXPECT_TRUE(d.stretch_end(x) > x && d.stretch_end(x) <= span.end);
      }
    }
  }
  for (auto x = span.begin; x < span.end; ++x) EXPECT_NE(owner[x], -1) << "byte in no window";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomDomains, testing::Range(0, 400));

TEST(Domains, AreWholeColumnsAsInThePaper) {
  // 4K x 4K reals in column-major order, 16 processors: 256 columns each.
  const ArrayLayout layout{{4096, 4096}, 4, Order::fortran, 0};
  const Domains d =
      Domains::cut(DomainRule::static_, layout.units(), layout.extent(), 16, 1 << 22, 1 << 22);
  for (std::int64_t a = 0; a < 16; ++a)
    EXPECT_EQ(d.hull(a), (Extent{a * 256 * 4096 * 4, (a + 1) * 256 * 4096 * 4}));
}

TEST(Domains, AlignedBoundsAreStripeMultiples) {
  const ArrayLayout layout{{1000003}, 1, Order::c, 77};
  const Domains d =
      Domains::cut(DomainRule::aligned, layout.units(), layout.extent(), 5, 1 << 16, 4096);
  for (std::int64_t a = 1; a < 5; ++a) EXPECT_EQ(d.hull(a).begin % 4096, 0);
}

/// No page is written in two rounds, and windows are aligned for O_DIRECT.
TEST(Domains, WindowsOfContiguousDomainsBeginAtPages) {
  const ArrayLayout layout{{1000003}, 1, Order::c, 77};
  for (const DomainRule rule : {DomainRule::static_, DomainRule::aligned}) {
    const Domains d = Domains::cut(rule, layout.units(), layout.extent(), 5, 1 << 16, 4096);
    for (std::int64_t a = 0; a < 5; ++a)
      for (std::int64_t round = 1; round < d.rounds(a); ++round)
        EXPECT_EQ(d.window(a, round).begin % 4096, 0) << "aggregator " << a;
  }
}

TEST(Domains, BlockCyclicDealsBlocksInTurn) {
  const ArrayLayout layout{{100}, 1, Order::c, 0};
  const Domains d =
      Domains::cut(DomainRule::block_cyclic, layout.units(), layout.extent(), 3, 100, 10);
  EXPECT_EQ(d.blocks(0), 4);
  EXPECT_EQ(d.blocks(1), 3);
  EXPECT_EQ(d.window(1, 2), (Extent{70, 80}));
}

TEST(Domains, WindowsAreWholeIndivisiblePieces) {
  const std::int64_t piece = 4100;
  const FileUnits units{8, {}, {0, 97 * piece}, false, piece};
  for (const DomainRule rule :
       {DomainRule::static_, DomainRule::dynamic, DomainRule::block_cyclic, DomainRule::aligned}) {
    const Extent span = units.whole_around({5 * piece + 17, 80 * piece + 1});
    EXPECT_EQ(span, (Extent{5 * piece, 81 * piece}));
    const Domains d = Domains::cut(rule, units, span, 7, 4096 * piece, 9000);
    for (std::int64_t a = 0; a < d.aggregators(); ++a)
      for (std::int64_t round = 0; round < d.rounds(a); ++round) {
        const Extent window = d.window(a, round);
        EXPECT_EQ(window, units.whole_around(window));
      }
  }
}

TEST(Domains, HugeFilesDoNotOverflow) {
  const ArrayLayout layout{{std::int64_t{1} << 59}, 8, Order::c, 0};
  const Domains d =
      Domains::cut(DomainRule::dynamic, layout.units(), layout.extent(), 100000, 1 << 22, 1 << 22);
  EXPECT_EQ(d.owner(layout.extent().end - 1), 99999);
  EXPECT_EQ(d.hull(99999).end, layout.extent().end);
}

}  // namespace
