#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <penstock/error.hpp>
#include <penstock/tile_budget.hpp>

#include "outofcore/room.hpp"
#include "storage_temp_folder.hpp"

using namespace penstock;

namespace {

constexpr TileUse uses[] = {TileUse::read, TileUse::update, TileUse::write};

TEST(TileBudget, AllPartsStayWithinTheMemory) {
  for (const std::int64_t memory :
       {std::int64_t{9000}, std::int64_t{1} << 20, std::int64_t{1} << 33})
    for (const TileUse use : uses) {
      const TileBudget budget = TileBudget::of(memory);
      const std::int64_t in_hand = TileBudget::buffers(use) * budget.tile_bytes(use);
      const std::int64_t on_its_way = (use == TileUse::update ? 2 : 1) * budget.tile_bytes(use);
      EXPECT_LE(in_hand + on_its_way + 2 * budget.buffer_size, memory);
      EXPECT_GE(budget.active_buffer(), on_its_way - 2);
      EXPECT_TRUE(budget.keeps(0, 1 << 30));
      EXPECT_FALSE(budget.keeps(2, memory / 2));
    }
}

TEST(TileBudget, WhatIsNeededIsEnough) {
  for (const std::int64_t bytes : {8, 1000, 1 << 16, 1 << 26})
    for (const TileUse use : uses)
      for (const std::int64_t buffer : {0, 4096, 1 << 20})
        EXPECT_GE(TileBudget::of(TileBudget::needed(use, bytes, buffer), buffer).tile_bytes(use),
                  bytes);
}

TEST(TileBudget, TooLittleIsSaid) {
  EXPECT_THROW(TileBudget::of(8192), Error);
  EXPECT_THROW(TileBudget::of(-1), Error);
  try {
    TileBudget::of(1 << 20, 1 << 20);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("give more memory or a smaller buffer_size"),
              std::string::npos);
  }
}

TEST(Room, IsThatOfTheMachine) {
  const Room room = free_room(std::filesystem::temp_directory_path() / "a file that is not there");
  EXPECT_GT(room.disk, 0);
  EXPECT_GT(room.memory, 0);
  EXPECT_GT(free_room("/no such folder/file").disk, room.disk) << "not known";
}

/// A folder instead of the file system's root.
class FreeMemory : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  void put_group(const std::string& limit, std::int64_t used, std::int64_t cache) const {
    put("/sys/fs/cgroup/memory.max", limit);
    put("/sys/fs/cgroup/memory.current", std::to_string(used));
    put("/sys/fs/cgroup/memory.stat",
        "anon 1\nfile 7\ninactive_file " + std::to_string(cache) + "\nactive_file 3");
  }
  std::int64_t found() const { return find_free_memory(root_.path()); }

 private:
  test::TempFolder root_;
};

TEST_F(FreeMemory, IsTheLesserOfMachineAndControlGroup) {
  EXPECT_EQ(found(), std::numeric_limits<std::int64_t>::max()) << "nothing is known";
  put("/proc/meminfo", "MemTotal: 9999 kB\nMemFree: 17 kB\nMemAvailable: 300 kB\nCached: 1 kB");
  EXPECT_EQ(found(), 300 * 1024);
  put_group("max", 500, 0);
  EXPECT_EQ(found(), 300 * 1024) << "a group without a limit";
  for (const std::int64_t limit : {100'000, 200'000, 10'000'000})
    for (const std::int64_t used : {0, 90'000, 150'000})
      for (const std::int64_t cache : {0, 20'000, 80'000}) {
        put_group(std::to_string(limit), used, cache);
        const std::int64_t of_group = std::max<std::int64_t>(limit - used + cache, 0);
        EXPECT_EQ(found(), std::min<std::int64_t>(of_group, 300 * 1024))
            << limit << " " << used << " " << cache;
      }
}

}  // namespace
