#include <gtest/gtest.h>

#include <filesystem>

#include <penstock/error.hpp>
#include <penstock/tile_budget.hpp>

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

}  // namespace
