// Where the constants of the cost model come from: measured once, told by a modelled device, and
// the same for all ranks.
#include "file/costs.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "file/header.hpp"

namespace penstock {
namespace {

TEST(CostsTest, CopiesAreMeasuredOnceAndWithinReason) {
  const Costs first = costs_of(std::nullopt, true);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(costs_of(std::nullopt, true), first);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(taken.count(), 0.1);  // to measure takes some milliseconds
  const Costs assumed;
  EXPECT_TRUE(first.measured);
  EXPECT_GE(first.copy_byte, assumed.copy_byte / 8);
  EXPECT_LE(first.copy_byte, assumed.copy_byte * 8);
  EXPECT_GE(first.run, assumed.run / 8);
  EXPECT_LE(first.run, assumed.run * 8);
  EXPECT_DOUBLE_EQ(first.storage_byte / assumed.storage_byte, first.copy_byte / assumed.copy_byte);
}

TEST(CostsTest, ADeviceIsNoMemory) {
  const Costs device = costs_of(std::nullopt, false);
  EXPECT_FALSE(device.page_cache);
  EXPECT_EQ(device.storage_byte, Costs::assumed(false).storage_byte);
  EXPECT_EQ(device.call, Costs::assumed(false).call);
  EXPECT_EQ(device.copy_byte, costs_of(std::nullopt, true).copy_byte);
}

TEST(CostsTest, AModelledDeviceTellsItsPace) {
  const Costs costs = costs_of(Pace::parse("bandwidth=50M,latency=2ms"), false);
  EXPECT_TRUE(costs.device_tells);
  EXPECT_DOUBLE_EQ(costs.storage_byte, 1 / static_cast<double>(50 << 20));
  EXPECT_NEAR(costs.call, 2e-3, 1e-5);
}

TEST(CostsTest, APacedPageCacheIsNoQuickerThanItsPageCache) {
  const Costs quick = costs_of(Pace::parse("bandwidth=1000G,page_cache=1"), true);
  EXPECT_EQ(quick.storage_byte, costs_of(std::nullopt, true).storage_byte);
  const Costs slow = costs_of(Pace::parse("bandwidth=10M,page_cache=1"), true);
  EXPECT_DOUBLE_EQ(slow.storage_byte, 1 / static_cast<double>(10 << 20));
}

TEST(CostsTest, HintsSayWhichStorageItIs) {
  Hints hints;
  EXPECT_TRUE(find_costs(hints).page_cache);
  hints.storage = StorageKind::uring_direct;
  EXPECT_FALSE(find_costs(hints).page_cache);
  hints.storage = StorageKind::uring;
  EXPECT_TRUE(find_costs(hints).page_cache);
  hints.device = "paced:bandwidth=20M";
  EXPECT_FALSE(find_costs(hints).page_cache);
  EXPECT_DOUBLE_EQ(find_costs(hints).storage_byte, 1 / static_cast<double>(20 << 20));
}

TEST(CostsTest, AreAnnouncedWithTheFile) {
  Announcement told;
  told.described.spec.shape = {3, 5};
  told.described.spec.order = Order::c;
  told.described.spec.dtype = "<f8";
  told.facts.type = "ext4";
  told.costs = costs_of(Pace::parse("bandwidth=50M,latency=2ms"), false);
  const Announcement heard = Announcement::unpacked(told.packed());
  EXPECT_EQ(heard.costs, told.costs);
  EXPECT_EQ(heard.described.spec.shape, told.described.spec.shape);
  EXPECT_EQ(heard.described.spec.dtype, "<f8");
  EXPECT_EQ(heard.facts.type, "ext4");
}

}  // namespace
}  // namespace penstock
