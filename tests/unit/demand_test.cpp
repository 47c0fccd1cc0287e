// Joining demands: each figure.
#include "pattern/demand.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "support/random.hpp"

using namespace penstock;

namespace {

/// For each figure the sum, the minimum, the maximum, or whether it holds for all or any.
TEST(Demand, JoinedDemandsAreWhatTheRanksHaveTogether) {
  test::Random r{std::mt19937_64(1)};
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<Demand> d(static_cast<std::size_t>(r.in(1, 6)));
    for (Demand& one : d) {
      if (r.chance(80))
        one = Demand::of(Footprint({FilePattern::run({r.in(0, 50), r.in(51, 99)})}));
      one.words = r.in(0, 9);
      if (r.chance(50)) one.pending_end = 5 + (one.pending_begin = r.in(0, 99));
      one.file_end = r.in(0, 99);
      one.room = r.chance(10) ? Demand::no_buffer : r.in(-9, 99);
      if (r.chance(50)) one.memory = r.in(0, 99), one.memory_at = &one - d.data();
      one.slow = r.chance(20);
      one.any_winner = r.chance(80);
    }
    Demand all = d[0];
    for (std::size_t i = 1; i < d.size(); ++i) all.join(d[i]);
    const auto of_all = [&](auto member, const auto& better) {
      auto best = d[0].*member;
      for (const Demand& one : d) best = better(one.*member, best) ? one.*member : best;
      return best;
    };
    const auto sum = [&](std::int64_t Demand::*member) {
      std::int64_t total = 0;
      for (const Demand& one : d) total += one.*member;
      return total;
    };
    for (const auto member :
         {&Demand::begin, &Demand::pending_begin, &Demand::room, &Demand::memory})
      ASSERT_EQ(all.*member, of_all(member, std::less<>())) << "trial " << trial;
    for (const auto member :
         {&Demand::end, &Demand::pending_end, &Demand::file_end, &Demand::words})
      ASSERT_EQ(all.*member, of_all(member, std::greater<>())) << "trial " << trial;
    for (const auto member : {&Demand::bytes, &Demand::runs, &Demand::hulls})
      ASSERT_EQ(all.*member, sum(member)) << "trial " << trial;
    ASSERT_EQ(all.slow, of_all(&Demand::slow, std::greater<>()));
    ASSERT_EQ(all.any_winner, of_all(&Demand::any_winner, std::less<>()));
    if (all.memory_at >= 0) {
      ASSERT_EQ(d[static_cast<std::size_t>(all.memory_at)].memory, all.memory);
    }
  }
}

}  // namespace
