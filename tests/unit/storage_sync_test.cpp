// What has to be on the device, and when: a crash of the machine must not lose more.
#include <gtest/gtest.h>

#include <filesystem>
#include <span>

#include "storage/replacement.hpp"
#include "storage/storage.hpp"
#include "storage_temp_folder.hpp"
#include "support/sync_log.hpp"

namespace penstock {
namespace {

using test::Synced;
using test::take_synced;
using test::TempFolder;

TEST(Synced, ANewFileAndTheFolderThatNamesIt) {
  const TempFolder folder;
  const std::string path = folder.file("f");
  Replacement replacement(path);
  replacement.write(std::as_bytes(std::span("new", 3)));
  take_synced();
  replacement.sync();
  const std::vector<Synced> before = take_synced();
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].path, std::filesystem::canonical(replacement.path()).string());
  EXPECT_EQ(before[0].content, "new");
  EXPECT_TRUE(before[0].with_attributes);
  replacement.commit();
  replacement.sync_folder();
  EXPECT_TRUE(test::has_path(take_synced(), folder.path()));
}

/// The kernel reports a writeback error once to each descriptor.
TEST(Synced, BothDescriptorsOfDirectStorage) {
  const TempFolder folder;
  std::string notice;
  const auto storage = open_direct(folder.file("f"), OpenFlag::create, &notice);
  const auto bytes = test::pattern(10000);
  ASSERT_EQ(write_fully(*storage, bytes, 0).bytes, 10000);
  take_synced();
  EXPECT_EQ(storage->sync(), 0);
  int direct = 0, buffered = 0;
  for (const Synced& one : take_synced()) ++(one.past_cache ? direct : buffered);
  EXPECT_EQ(buffered, 1);
  EXPECT_EQ(direct, notice.empty() ? 1 : 0) << notice;
}

}  // namespace
}  // namespace penstock
