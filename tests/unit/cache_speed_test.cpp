#include "background/cache_speed.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using Clock = CacheSpeed::Clock;
constexpr std::int64_t mebi = std::int64_t{1} << 20;
const Clock::time_point start{std::chrono::hours(1)};

TEST(CacheSpeed, IsQuickUntilSomethingElseIsSeen) {
  EXPECT_FALSE(CacheSpeed().is_slow(start));
}

TEST(CacheSpeed, OneSlowCallOfSomeLengthIsEnough) {
  CacheSpeed speed;
  speed.note(16 * mebi, 0.1, 1, start);
  EXPECT_TRUE(speed.is_slow(start));
}

TEST(CacheSpeed, WhatALostCoreCostsIsNotTheDevice) {
  CacheSpeed speed;
  speed.note(mebi, 0.03, 1, start);
  EXPECT_FALSE(speed.is_slow(start));
  speed.note(63 * mebi, 0.01, 1, start);  // and the next ones show that it was no more than that
  speed.note(mebi, 0.03, 1, start);
  EXPECT_FALSE(speed.is_slow(start));
}

TEST(CacheSpeed, ManySmallCallsAreSlowForTheirNumberOnly) {
  CacheSpeed speed;
  for (int i = 0; i < 100; ++i) speed.note(8000, 1e-3, 100, start);  // 8 MB/s: 10 us a call
  EXPECT_FALSE(speed.is_slow(start));
}

TEST(CacheSpeed, QuickWritesEndIt) {
  CacheSpeed speed;
  speed.note(16 * mebi, 0.1, 1, start);
  for (int i = 0; i < 64; ++i) speed.note(mebi, 0.0003, 1, start);
  EXPECT_FALSE(speed.is_slow(start));
}

TEST(CacheSpeed, WhatHasBeenJudgedDoesNotCountAgain) {
  CacheSpeed speed;
  speed.note(1024 * mebi, 0.1, 1, start);
  EXPECT_FALSE(speed.is_slow(start));
  speed.note(16 * mebi, 0.1, 1, start);
  EXPECT_TRUE(speed.is_slow(start));
}

TEST(CacheSpeed, IsForgottenAfterAWhile) {
  CacheSpeed speed;
  speed.note(16 * mebi, 0.1, 1, start);
  EXPECT_TRUE(speed.is_slow(start + std::chrono::seconds(9)));
  EXPECT_FALSE(speed.is_slow(start + std::chrono::seconds(11)));
}

TEST(CacheSpeed, EveryDeviceHasItsOwn) {
  CacheSpeed::of("cache_speed_test 1")->note(16 * mebi, 0.1, 1, Clock::now());
  EXPECT_TRUE(CacheSpeed::of("cache_speed_test 1")->is_slow(Clock::now()));
  EXPECT_FALSE(CacheSpeed::of("cache_speed_test 2")->is_slow(Clock::now()));
}

}  // namespace
}  // namespace penstock
