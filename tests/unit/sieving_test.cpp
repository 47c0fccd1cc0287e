// Which holes are moved together with the bytes around them (plan/sieving.hpp).
#include <gtest/gtest.h>

#include "plan/coverage.hpp"
#include "plan_support.hpp"

using namespace penstock;
using test::machine_with_device;

namespace {

TEST(Sieving, PaysForShortRunsOnly) {
  const Sieving page_cache;
  EXPECT_TRUE(page_cache.pays(1 << 20, 1 << 19, 1 << 17, true));
  EXPECT_FALSE(page_cache.pays(1 << 22, 1 << 13, 2, true));
  EXPECT_FALSE(page_cache.pays(100, 100, 1, false));
}

TEST(Sieving, KnowsWhatARequestCosts) {
  const Sieving one = choose_sieving(machine_with_device(16, 2), 1);
  const Sieving all = choose_sieving(machine_with_device(16, 2), 16);
  EXPECT_EQ(one.request_bytes, 100000);
  EXPECT_EQ(all.request_bytes, 6250);  // while one waits, 15 others are in progress
  EXPECT_EQ(choose_sieving({16, 2}, 16).request_bytes, 64 * 1024);
  // Two runs of 1000 bytes, 50 kB apart: one more request, or 50 kB.
  EXPECT_TRUE(one.pays(52000, 2000, 2, false));
  EXPECT_FALSE(all.pays(52000, 2000, 2, false));
  // A read-modify-write takes two requests: with two runs it saves none.
  EXPECT_FALSE(one.pays(2010, 2000, 2, true));
  EXPECT_TRUE(one.pays(3020, 3000, 3, true));
}

TEST(Sieving, DividesAgainWhatDoesNotPayWhenItIsWritten) {
  const Sieving sieving{/*request_bytes=*/1000, /*in_parts=*/true};
  Coverage coverage(nullptr);
  coverage.restart({0, 10000});
  coverage.mark({0, nullptr, 0, 10, 5, 20, 0});     // 0 to 90: short holes
  coverage.mark({690, nullptr, 0, 10, 3, 610, 0});  // 690, 1300, 1910: holes of 600
  coverage.mark({3000, nullptr, 0, 10, 1, 0, 0});   // after one of 1080
  const auto begins = [&](bool write) {
    std::vector<std::int64_t> found;
    sieving.for_each_part(coverage, {0, 10000}, write, [&](const Coverage::Cluster& part) {
      found.push_back(part.range.begin);
    });
    return found;
  };
  EXPECT_EQ(begins(false), (std::vector<std::int64_t>{0, 3000}));
  EXPECT_TRUE(sieving.pays({{0, 1920}, 80, 8}, true));  // 6 requests less for 3760 bytes
  EXPECT_EQ(begins(true), (std::vector<std::int64_t>{0, 3000}));
  coverage.restart({0, 10000});
  coverage.mark({0, nullptr, 0, 10, 5, 20, 0});
  coverage.mark({890, nullptr, 0, 10, 3, 810, 0});   // holes of 800: twice these is more
  coverage.mark({3300, nullptr, 0, 10, 5, 910, 0});  // and of 900
  EXPECT_EQ(begins(true),
            (std::vector<std::int64_t>{0, 890, 1700, 2510, 3300, 4210, 5120, 6030, 6940}));
}

}  // namespace
