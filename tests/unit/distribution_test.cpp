#include <gtest/gtest.h>

#include <map>

#include <penstock/distribution.hpp>
#include <penstock/error.hpp>

#include "support/indices.hpp"
#include "support/random.hpp"

using namespace penstock;
using test::indices_of;
using Kind = DimensionKind::Kind;

namespace {

TEST(Distribution, EveryElementHasExactlyOneOwner) {
  for (const std::int64_t ranks : {1, 2, 3, 4, 7, 16})
    for (const DimensionKind first : {DimensionKind{Kind::block, 1}, DimensionKind{Kind::cyclic, 1},
                                      DimensionKind{Kind::block_cyclic, 3}})
      for (const std::vector<std::int64_t>& shape :
           {std::vector<std::int64_t>{13, 9}, std::vector<std::int64_t>{1, 30},
            std::vector<std::int64_t>{0, 4}}) {
        const Distribution d(shape, ranks, {first, {Kind::block, 1}});
        std::map<std::pair<std::int64_t, std::int64_t>, int> owners;
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
          const Share share = d.share(rank);
          EXPECT_NO_THROW(share.section.check(shape));
          for (const auto i : indices_of(share.section.dimensions()[0]))
            for (const auto j : indices_of(share.section.dimensions()[1])) ++owners[{i, j}];
        }
        EXPECT_EQ(static_cast<std::int64_t>(owners.size()), shape[0] * shape[1]);
        for (const auto& [place, count] : owners) EXPECT_EQ(count, 1);
      }
}

TEST(Distribution, BlockSharesDifferByAtMostOne) {
  const Distribution d({10}, 4, {{Kind::block, 1}});
  std::vector<std::int64_t> counts;
  for (int rank = 0; rank < 4; ++rank) counts.push_back(d.share(rank).section.element_count());
  EXPECT_EQ(counts, (std::vector<std::int64_t>{3, 3, 2, 2}));
}

TEST(Distribution, HaloIsClippedAtTheEdge) {
  const Distribution d({8, 8}, 4, {{Kind::block, 1}, {Kind::block, 1}}, {}, Halo{{1}, {}, false});
  const Share corner = d.share(0);
  EXPECT_EQ(corner.section, (Section{{0, 4}, {0, 4}}));
  EXPECT_EQ(corner.with_halo, (Section{{0, 5}, {0, 5}}));
  EXPECT_EQ(corner.local_shape, (std::vector<std::int64_t>{5, 5}));
  EXPECT_EQ(d.share(3).halo_before, (std::vector<std::int64_t>{1, 1}));
}

TEST(Distribution, FramesAreOnAllSidesAndInNoPiece) {
  const Distribution d({8, 8}, 4, {{}, {}}, {}, Halo{{1, 2}, {}, true});
  const Share corner = d.share(0);
  EXPECT_EQ(corner.local_shape, (std::vector<std::int64_t>{6, 8}));
  EXPECT_EQ(corner.halo_before, (std::vector<std::int64_t>{1, 2}));
  ASSERT_EQ(corner.ghosted.size(), 1U);
  EXPECT_EQ(corner.ghosted[0].section, (Section{{0, 5}, {0, 6}}));
  EXPECT_EQ(corner.ghosted[0].start, (std::vector<std::int64_t>{1, 2}));
}

TEST(Distribution, PiecesOfAPeriodicHaloHoldWhatModuloSays) {
  for (const std::int64_t width : {0, 1, 3, 11})
    for (const std::int64_t ranks : {1, 2, 3})
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const Share share =
            Distribution({5, 4}, ranks, {{}, {}}, {}, Halo{{width}, {true, true}, false})
                .share(rank);
        std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::int64_t, std::int64_t>> held;
        for (const HaloPiece& piece : share.ghosted)
          for (const auto i : indices_of(piece.section.dimensions()[0]))
            for (const auto j : indices_of(piece.section.dimensions()[1])) {
              const Range rows = std::get<Range>(piece.section.dimensions()[0]);
              const Range columns = std::get<Range>(piece.section.dimensions()[1]);
              held[{piece.start[0] + i - rows.lower, piece.start[1] + j - columns.lower}] = {i, j};
            }
        const auto first = std::get<Range>(share.section.dimensions()[0]).lower - width;
        const auto second = std::get<Range>(share.section.dimensions()[1]).lower - width;
        EXPECT_EQ(static_cast<std::int64_t>(held.size()),
                  share.local_shape[0] * share.local_shape[1]);
        for (const auto& [place, element] : held) {
          EXPECT_EQ(element.first, (first + place.first + 60) % 5);
          EXPECT_EQ(element.second, (second + place.second + 60) % 4);
        }
      }
}

/// One dimension of a share, counted index by index: the owned ones, the halo around them, and the
/// part of it within the array.
struct DimensionModel {
  std::int64_t owned = 0, before = 0, local = 0, with_halo = 0;
};

DimensionModel model_of(const Range& own, std::int64_t extent, std::int64_t width,
                        bool everywhere) {
  DimensionModel model;
  model.owned = own.upper - own.lower;
  if (model.owned == 0) return model;  // no block, no halo
  for (std::int64_t i = own.lower - width; i < own.upper + width; ++i) {
    const bool is_there = i >= 0 && i < extent;
    model.with_halo += is_there ? 1 : 0;
    if (!is_there && !everywhere) continue;
    ++model.local;
    model.before += i < own.lower ? 1 : 0;
  }
  return model;
}

TEST(Distribution, SharesWithHalosAreThoseOfAModel) {
  test::Random r{std::mt19937_64(1)};
  for (int trial = 0; trial < 2000; ++trial) {
    const std::vector<std::int64_t> shape{r.in(0, 7), r.in(1, 7)}, grid{r.in(1, 5), r.in(1, 3)};
    const Halo halo{{r.in(0, 4), r.in(0, 9)}, {r.chance(30), r.chance(30)}, r.chance(30)};
    const Distribution d(shape, grid[0] * grid[1], {{}, {}}, grid, halo);
    std::int64_t owned = 0;
    for (std::int64_t rank = 0; rank < d.ranks(); ++rank) {
      const Share share = d.share(rank);
      owned += share.section.element_count();
      std::int64_t around = 1;
      for (std::size_t k = 0; k < 2; ++k) {
        const bool everywhere = halo.periodic[k] || halo.frame;
        const DimensionModel model = model_of(std::get<Range>(share.section.dimensions()[k]),
                                              shape[k], halo.width[k], everywhere);
        ASSERT_EQ(share.local_shape[k], model.local) << "trial " << trial << ", rank " << rank;
        ASSERT_EQ(share.halo_before[k], model.before) << "trial " << trial << ", rank " << rank;
        around *= model.with_halo;
      }
      ASSERT_EQ(share.with_halo.element_count(), around) << "trial " << trial;
      ASSERT_NO_THROW(share.with_halo.check(shape));
    }
    ASSERT_EQ(owned, shape[0] * shape[1]);
  }
}

TEST(Distribution, GridIsChosenSquareAndChecked) {
  EXPECT_EQ(Distribution({64, 64, 64}, 8, {{}, {}, {}}).grid(),
            (std::vector<std::int64_t>{2, 2, 2}));
  EXPECT_EQ(Distribution({64, 64}, 6, {{}, {Kind::collapsed, 1}}).grid(),
            (std::vector<std::int64_t>{6, 1}));
  EXPECT_THROW(Distribution({64, 64}, 6, {{}, {}}, {2, 2}), Error);
  EXPECT_THROW(Distribution({64}, 2, {{Kind::collapsed, 1}}), Error);
  EXPECT_THROW(Distribution({64}, 2, {{Kind::cyclic, 1}}, {}, Halo{{1}, {}, false}), Error);
  EXPECT_THROW(Distribution({64}, 2, {{}}, {}, Halo{{1}, {true, true}, false}), Error);
  EXPECT_THROW(Distribution({64}, 2, {{}, {}}), Error);
}

TEST(Distribution, IsRefusedWhereItsGridCannotBe) {
  test::Random r{std::mt19937_64(1)};
  int taken = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const std::vector<std::int64_t> shape{8, 6}, grid{r.in(0, 3), r.in(0, 3)};
    std::vector<DimensionKind> kinds;
    for (int d = 0; d < 2; ++d)
      kinds.push_back(
          {r.pick({Kind::block, Kind::cyclic, Kind::block_cyclic, Kind::collapsed}), 2});
    const Halo halo{{r.in(-1, 1) * r.in(0, 1), r.in(0, 1)}, {}, false};
    const std::int64_t ranks = r.chance(80) ? grid[0] * grid[1] : r.in(0, 6);
    bool fits = ranks >= 1 && grid[0] * grid[1] == ranks;
    for (std::size_t d = 0; d < 2; ++d) {
      const bool dealt = kinds[d].kind == Kind::cyclic || kinds[d].kind == Kind::block_cyclic;
      fits = fits && (kinds[d].kind != Kind::collapsed || grid[d] == 1) && halo.width[d] >= 0 &&
             !(halo.width[d] > 0 && dealt);
    }
    bool made = true;
    std::int64_t elements = 0;
    try {
      const Distribution d(shape, ranks, kinds, grid, halo);
      for (std::int64_t rank = 0; rank < ranks; ++rank)
        elements += d.share(rank).section.element_count();
    } catch (const Error& error) {
      EXPECT_EQ(error.error_class(), ErrorClass::argument);
      made = false;
    }
    ASSERT_EQ(made, fits) << "trial " << trial;
    ASSERT_EQ(elements, fits ? 48 : 0);
    taken += fits ? 1 : 0;
  }
  EXPECT_GT(taken, 300);
}

TEST(DimensionKind, Parses) {
  EXPECT_EQ(DimensionKind::parse("block-cyclic(4)").block, 4);
  EXPECT_EQ(DimensionKind::parse("cyclic(2)").to_string(), "block-cyclic(2)");
  EXPECT_EQ(DimensionKind::parse("*").kind, Kind::collapsed);
  for (const char* text : {"", "blok", "block-cyclic(0)", "block-cyclic(x)", "block-cyclic(4"})
    EXPECT_THROW(DimensionKind::parse(text), Error) << text;
}

}  // namespace
