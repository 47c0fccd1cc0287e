#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <penstock/error.hpp>
#include <penstock/tiling.hpp>

#include "support/indices.hpp"
#include "support/random.hpp"

using namespace penstock;
using test::indices_of;

namespace {

TilingSpec spec_of(std::vector<std::int64_t> shape, std::int64_t bytes) {
  TilingSpec spec;
  spec.section = Section::all(shape);
  spec.shape = std::move(shape);
  spec.element_size = 8;
  spec.bytes = bytes;
  return spec;
}

/// How many tiles contain each element of a two-dimensional array.
std::vector<int> covered(const Tiling& tiling, std::int64_t rows, std::int64_t columns) {
  std::vector<int> times(static_cast<std::size_t>(rows * columns));
  for (std::int64_t t = 0; t < tiling.count(); ++t) {
    const TileSections tile = tiling.tile(t);
    EXPECT_NO_THROW(tile.section.check(std::vector{rows, columns}));
    for (const auto i : indices_of(tile.section.dimensions()[0]))
      for (const auto j : indices_of(tile.section.dimensions()[1])) ++times[i * columns + j];
  }
  return times;
}

std::string words_of(const TilingSpec& spec) {
  try {
    const Tiling tiling(spec);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Tiling, EveryElementIsInOneTileThatFits) {
  for (const std::int64_t bytes : {8, 16, 72, 200, 1000, 100000})
    for (const Order order : {Order::c, Order::fortran})
      for (const int axis : {-1, 0, 1})
        for (const std::int64_t parts : {1, 3, 50}) {
          TilingSpec spec = spec_of({13, 9}, bytes);
          spec.order = order;
          spec.axis = axis;
          spec.parts = parts;
          const Tiling tiling(spec);
          EXPECT_EQ(covered(tiling, 13, 9), std::vector<int>(13 * 9, 1));
          EXPECT_LE(tiling.bytes(), bytes);
          for (std::int64_t t = 0; t < tiling.count(); ++t)
            EXPECT_LE(tiling.tile(t).section.element_count() * 8, tiling.bytes());
        }
}

/// Memory for a tile is sufficient for each tile with its halo; otherwise the error says what one
/// element with its halo takes.
TEST(Tiling, TilesFitWithTheirHalos) {
  test::Random r{std::mt19937_64(1)};
  int refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    TilingSpec spec = spec_of({r.in(1, 20), r.in(1, 12)}, 8 * r.in(1, 150));
    spec.halo = {r.in(0, 3), r.in(0, 3)};
    spec.axis = static_cast<int>(r.in(-1, 1));
    spec.order = r.pick({Order::c, Order::fortran});
    spec.parts = r.in(1, 4);
    if (r.chance(30)) spec.tile_shape = {r.in(1, 20), r.in(1, 12)};
    try {
      const Tiling tiling(spec);
      ASSERT_LE(tiling.bytes(), spec.bytes);
      for (std::int64_t t = 0; t < tiling.count(); ++t)
        ASSERT_LE(tiling.tile(t).with_halo.element_count() * 8, tiling.bytes()) << trial;
      ASSERT_EQ(covered(tiling, spec.shape[0], spec.shape[1]),
                std::vector<int>(static_cast<std::size_t>(spec.shape[0] * spec.shape[1]), 1));
    } catch (const Error& error) {
      ++refused;
      ASSERT_EQ(error.error_class(), ErrorClass::argument);
      const auto around = [&](std::size_t d) {
        const std::int64_t own =
            spec.tile_shape.empty() ? 1 : std::min(spec.tile_shape[d], spec.shape[d]);
        return std::min(own + 2 * spec.halo[d], spec.shape[d]);
      };
      ASSERT_GT(8 * around(0) * around(1), spec.bytes) << error.what();
    }
  }
  EXPECT_LT(refused, 1500);
}

TEST(Tiling, SlabsFollowTheSlowDimension) {
  const Tiling rows(spec_of({100, 10}, 8 * 10 * 7));
  EXPECT_EQ(rows.axis(), 0);
  EXPECT_EQ(rows.tile_shape(), (std::vector<std::int64_t>{7, 10}));
  EXPECT_EQ(rows.count(), 15);
  TilingSpec spec = spec_of({100, 10}, 8 * 100 * 3);
  spec.order = Order::fortran;
  const Tiling columns(spec);
  EXPECT_EQ(columns.axis(), 1);
  EXPECT_EQ(columns.tile_shape(), (std::vector<std::int64_t>{100, 3}));
  EXPECT_EQ(columns.tile(3).section, (Section{{0, 100}, {9, 10}}));
}

TEST(Tiling, PartsAreAlike) {
  TilingSpec spec = spec_of({100, 10}, 1 << 20);
  spec.parts = 4;
  EXPECT_EQ(Tiling(spec).tile_shape().front(), 25);
  spec.bytes = 8 * 10 * 20;  // 5 slabs fit, so 8 tiles are made: two for each of four ranks
  EXPECT_EQ(Tiling(spec).tile_shape().front(), 13);
  spec.parts = 1000;
  EXPECT_EQ(Tiling(spec).count(), 100);
}

TEST(Tiling, AHaloEndsAtTheEdge) {
  TilingSpec spec = spec_of({10, 10}, 8 * 10 * 5);
  spec.halo = {1, 0};
  const Tiling tiling(spec);
  EXPECT_EQ(tiling.tile_shape().front(), 3);
  EXPECT_EQ(tiling.tile(0).with_halo, (Section{{0, 4}, {0, 10}}));
  EXPECT_EQ(tiling.tile(0).halo_before.front(), 0);
  EXPECT_EQ(tiling.tile(1).with_halo, (Section{{2, 7}, {0, 10}}));
  EXPECT_EQ(tiling.tile(1).halo_before.front(), 1);
  EXPECT_EQ(tiling.tile(3).with_halo, (Section{{8, 10}, {0, 10}}));
}

TEST(Tiling, SectionsOfAllKinds) {
  TilingSpec spec = spec_of({20, 9}, 8 * 9 * 2);
  spec.section = Section{{1, 20, 3}, {0, 9}};
  EXPECT_EQ(Tiling(spec).tile(1).section, (Section{{7, 11, 3}, {0, 9}}));
  spec.section = Section(std::vector<Indices>{Range{0, 20, 6, 3}, IndexList{8, 1, 5}});
  const std::vector<int> times = covered(Tiling(spec), 20, 9);
  EXPECT_EQ(std::count(times.begin(), times.end(), 1), 3 * (3 * 3 + 2));
  spec.section = Section{{4, 4}, {0, 9}};
  EXPECT_EQ(Tiling(spec).count(), 0);
  spec.section = Section();
  EXPECT_EQ(Tiling(spec).count(), 0);
}

TEST(Tiling, ErrorsSayWhatIsNeeded) {
  TilingSpec spec = spec_of({20, 9}, 4);
  EXPECT_NE(words_of(spec).find("tiles of at most 4 B: one element with its halo has 8 B"),
            std::string::npos);
  spec.bytes = 100;
  spec.tile_shape = {4, 4};
  EXPECT_NE(words_of(spec).find("one of the shape given has 128 B"), std::string::npos);
  spec.tile_shape = {4};
  EXPECT_NE(words_of(spec).find("has 1 extents, the array 2 dimensions"), std::string::npos);
  spec.tile_shape = {0, 4};
  EXPECT_NE(words_of(spec).find("must be at least 1, not 0"), std::string::npos);
  spec.tile_shape = {};
  spec.axis = 2;
  EXPECT_NE(words_of(spec).find("axis 2 is none"), std::string::npos);
  spec.axis = -1;
  spec.halo = {-1};
  EXPECT_NE(words_of(spec).find("a halo must not be negative"), std::string::npos);
  spec.halo = {1};
  spec.section = Section{{0, 20, 2}, {0, 9}};
  EXPECT_NE(words_of(spec).find("dimension 0 has a halo, so its indices must be neighbours"),
            std::string::npos);
  spec.section = Section::extents({{0, 5}});
  EXPECT_NE(words_of(spec).find("a section of runs along the file cannot be cut"),
            std::string::npos);
}

}  // namespace
