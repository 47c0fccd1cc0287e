#include "mpi/rank_map.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace penstock {
namespace {

/// A table of the same placement.
struct Table {
  Table(const RankMap& map, int ranks)
      : memory(static_cast<std::size_t>(RankMap::table_bytes(ranks)) / sizeof(std::int32_t)),
        table(RankMap::table(reinterpret_cast<std::byte*>(memory.data()), ranks)) {
    for (int rank = 0; rank < ranks; ++rank) table.set(rank, map.place_of(rank));
    table.index();
  }
  std::vector<std::int32_t> memory;
  RankMap table;
};

/// Every rank has one place; local ranks ascend with the ranks; the table agrees.
void check(const RankMap& map, int ranks, int nodes) {
  const Table other(map, ranks);
  EXPECT_FALSE(map.is_table());
  EXPECT_TRUE(other.table.is_table());
  int all = 0;
  for (int node = 0; node < nodes; ++node) {
    const int size = map.size_of(node);
    EXPECT_GT(size, 0);
    EXPECT_EQ(size, other.table.size_of(node));
    for (int local_rank = 0, before = -1; local_rank < size; ++local_rank) {
      const RankMap::Place place{node, local_rank};
      const int rank = map.rank_at(place);
      EXPECT_GT(rank, before);
      EXPECT_LT(rank, ranks);
      EXPECT_EQ(map.place_of(rank), place);
      EXPECT_EQ(other.table.rank_at(place), rank);
      before = rank;
    }
    all += size;
  }
  EXPECT_EQ(all, ranks);
}

TEST(RankMap, FormulasSayTheSameAsTables) {
  for (int ranks = 1; ranks <= 40; ++ranks)
    for (int step = 1; step <= ranks; ++step) {
      check(RankMap::blocks(ranks, step), ranks, (ranks + step - 1) / step);
      check(RankMap::in_turn(ranks, step), ranks, step);
    }
}

TEST(RankMap, MillionsOfRanksTakeNoMemory) {
  const RankMap map = RankMap::blocks(1'000'000, 96);
  EXPECT_EQ(map.place_of(999'999), (RankMap::Place{10416, 63}));
  EXPECT_EQ(map.size_of(10416), 64);
}

}  // namespace
}  // namespace penstock
