// The sources of the cost model's constants: measured once, given by a modelled device, and the
// same for all ranks.
#include "file/costs.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "file/announcement.hpp"
#include "formats/header.hpp"

namespace penstock {
namespace {

TEST(CostsTest, CopiesAreMeasuredOnceAndWithinReason) {
  const Costs first = costs_of(std::nullopt, true);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(costs_of(std::nullopt, true), first);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(taken.count(), 0.1);  // measuring takes some milliseconds
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

TEST(CostsTest, FilesOfLocalFileSystemsAreMappedWhereNothingIsBefore) {
  Hints hints;
  for (const char* type : {"ext4", "xfs", "btrfs", "tmpfs"}) EXPECT_TRUE(maps_files(hints, type));
  for (const char* type : {"nfs", "lustre", "fuse", ""}) EXPECT_FALSE(maps_files(hints, type));
  hints.device = "paced:bandwidth=20M,page_cache=1";
  EXPECT_FALSE(maps_files(hints, "ext4"));
  hints.device = "";
  hints.storage = StorageKind::posix;  // calls only
  EXPECT_FALSE(maps_files(hints, "ext4"));
  hints.storage = StorageKind::uring;
  EXPECT_FALSE(maps_files(hints, "ext4"));
  hints.storage = StorageKind::direct;
  EXPECT_FALSE(find_costs(hints).maps_files);
}

TEST(CostsTest, TheEnvironmentForbidsMapping) {
  const Hints hints;
  ::setenv("PENSTOCK_MAPPED_READS", "never", 1);
  EXPECT_FALSE(maps_files(hints, "ext4"));
  ::setenv("PENSTOCK_MAPPED_READS", "auto", 1);
  EXPECT_TRUE(maps_files(hints, "ext4"));
  ::setenv("PENSTOCK_MAPPED_READS", "off", 1);
  EXPECT_THROW(maps_files(hints, "ext4"), Error);
  ::unsetenv("PENSTOCK_MAPPED_READS");
}

TEST(CostsTest, AreAnnouncedWithTheFile) {
  const Costs costs = costs_of(Pace::parse("bandwidth=50M,latency=2ms"), false);
  const FileSystemFacts facts{"nfs", 4096, 0, 512};
  Announcement sent = Announcement::of(costs, facts, "./.f.penstock-abc");
  sent.identity = "inode 7";
  sent.page_cache = "kernel 5";
  sent.contents = std::string("a\0b", 3);
  const Announcement received = Announcement::unpacked(sent.packed());
  EXPECT_EQ(received.costs, costs);
  EXPECT_EQ(received.facts().type, "nfs");
  EXPECT_FALSE(received.facts().caches_agree);
  EXPECT_EQ(received.path, "./.f.penstock-abc");
  EXPECT_EQ(received.identity, "inode 7");
  EXPECT_EQ(received.page_cache, "kernel 5");
  EXPECT_EQ(received.facts().direct_alignment, 512);
  EXPECT_EQ(received.contents, sent.contents);
}

TEST(HeaderTest, WhatRankZeroFoundTravels) {
  Described found;
  found.spec.shape = {3, 5};
  found.spec.order = Order::fortran;
  found.spec.dtype = "<f8";
  found.data_offset = 128;
  const Described received = Described::unpacked(found.packed());
  EXPECT_EQ(received.spec.shape, found.spec.shape);
  EXPECT_EQ(received.spec.order, Order::fortran);
  EXPECT_EQ(received.spec.dtype, "<f8");
  EXPECT_EQ(received.data_offset, 128);
}

}  // namespace
}  // namespace penstock
