// Sections of arrays lowered to bytes, compared with the list of their elements.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include <penstock/error.hpp>

#include "array/lower.hpp"
#include "support/indices.hpp"
#include "support/random.hpp"
#include "support/random_patterns.hpp"

using namespace penstock;
using test::indices_of;
using test::Places;
using test::Random;

namespace {

Indices random_indices(Random& r, std::int64_t extent) {
  if (r.in(0, 4) == 0) {
    IndexList list;
    for (std::int64_t i = 0; i < extent; ++i)
      if (r.in(0, 1)) list.push_back(i);
    std::shuffle(list.begin(), list.end(), r.engine);
    return list;
  }
  const std::int64_t lower = r.in(0, extent), upper = r.in(lower, extent), stride = r.in(1, 4);
  return Range{lower, upper, stride, r.in(1, stride)};
}

/// File offset and memory place of each byte, sorted by offset.
std::vector<std::pair<std::int64_t, std::int64_t>> bytes_of(
    const ArrayLayout& layout, const Section& section, const std::vector<std::int64_t>& strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> bytes;
  const std::vector<std::int64_t> pitches = layout.pitches(), shape = section.shape();
  std::vector<std::int64_t> at(shape.size());
  for (std::int64_t n = section.element_count(); n > 0; --n) {
    std::int64_t file = layout.offset, memory = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      file += indices_of(section.dimensions()[d])[static_cast<std::size_t>(at[d])] * pitches[d];
      memory += at[d] * strides[d];
    }
    for (std::int64_t k = 0; k < layout.element_size; ++k) bytes.push_back({file + k, memory + k});
    for (std::size_t d = shape.size(); d-- > 0 && ++at[d] == shape[d];) at[d] = 0;
  }
  std::sort(bytes.begin(), bytes.end());
  return bytes;
}

class RandomSections : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomSections, testing::Range(0, 300));

TEST_P(RandomSections, AreTheBytesOfTheirElements) {
  Random r{std::mt19937_64(static_cast<std::uint64_t>(GetParam()))};
  ArrayLayout layout;
  for (std::int64_t d = r.in(1, 4); d > 0; --d) layout.shape.push_back(r.in(1, 7));
  layout.element_size = r.in(1, 5);
  layout.order = r.in(0, 1) ? Order::c : Order::fortran;
  layout.offset = r.in(0, 9);
  if (r.in(0, 2) == 0) layout.step = layout.pitches()[layout.dimension_at(0)] + r.in(0, 9);
  std::vector<Indices> dimensions;
  for (const auto n : layout.shape) dimensions.push_back(random_indices(r, n));
  const Section section(dimensions);
  std::vector<std::int64_t> strides = dense_strides(
      section.shape(), layout.element_size + r.in(0, 2), r.in(0, 1) ? Order::c : Order::fortran);
  if (r.in(0, 3) == 0) strides.front() = -strides.front();
  const Lowered lowered = lower(layout, section, nullptr, strides);
  EXPECT_EQ(lowered.file.size(), section.element_count() * layout.element_size);
  const FilePattern file = lower(layout, section);
  const auto expected = bytes_of(layout, section, strides);
  const Places offsets = test::places_of(lowered.file.nest(), 0, lowered.file.size());
  const Places memory = test::places_of(lowered.memory.nest(), 0, lowered.memory.size());
  ASSERT_EQ(offsets, test::places_of(file.nest(), 0, file.size()));
  ASSERT_EQ(std::ssize(offsets), std::ssize(expected));
  ASSERT_EQ(std::ssize(memory), std::ssize(expected));
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(std::make_pair(offsets[i], memory[i]), expected[i]) << "byte " << i;
}

TEST(Lower, ExtentsLieOneAfterTheOtherInMemory) {
  const ArrayLayout layout{{10, 10}, 4, Order::c, 100};
  const Section section = Section::extents({{1, 3}, {3, 3}, {5, 9}});
  const Lowered dense = lower(layout, section, nullptr, {4});
  EXPECT_EQ(dense.file.hull(), (Extent{104, 136}));
  EXPECT_EQ(dense.file.run_count(), 2);
  EXPECT_EQ(dense.memory.nest().run_count(0, 24), 1);
  const Lowered spread = lower(layout, section, nullptr, {12});
  EXPECT_EQ(spread.memory.nest().place_of(9), 25);
}

TEST(Lower, ContiguousSectionsAreOneRun) {
  const ArrayLayout layout{{100, 200, 300}, 8, Order::c, 0};
  EXPECT_EQ(lower(layout, Section::all(layout.shape)).run_count(), 1);
  EXPECT_EQ(lower(layout, Section{{5, 9}, {0, 200}, {0, 300}}).run_count(), 1);
  EXPECT_EQ(lower(layout, Section{{0, 100}, {0, 10}, {0, 300}}).run_count(), 100);
}

TEST(Lower, StepsWithOtherBytesBetween) {
  const ArrayLayout layout{{3, 2}, 4, Order::c, 100, 20};
  EXPECT_EQ(layout.extent(), (Extent{100, 148}));
  EXPECT_EQ((ArrayLayout{{0, 2}, 4, Order::c, 100, 20}).extent(), (Extent{100, 100}));
  const Section section = Section::extents({{1, 4}, {5, 6}});
  const FilePattern file = lower(layout, section);
  EXPECT_EQ(
      test::places_of(file.nest(), 0, file.size()),
      (Places{104, 105, 106, 107, 120, 121, 122, 123, 124, 125, 126, 127, 144, 145, 146, 147}));
  EXPECT_THROW((ArrayLayout{{3, 2}, 4, Order::c, 100, 7}).check(), Error);
  EXPECT_THROW((ArrayLayout{{1LL << 40, 2}, 4, Order::c, 0, 1LL << 30}).check(), Error);
}

TEST(Lower, StridesAndBlocksThatAreLargerThanTheArray) {
  const ArrayLayout layout{{10}, 8, Order::c, 16};
  constexpr std::int64_t huge = std::int64_t{1} << 61;
  const auto bytes = [&](const Range& range) {
    const Section section({range});
    section.check(layout.shape);
    const Lowered lowered = lower(layout, section, nullptr, {8});
    EXPECT_EQ(lowered.file.size(), lowered.memory.size());
    return std::pair(lowered.file.hull(), lowered.file.size());
  };
  EXPECT_EQ(bytes({0, 10, huge + 1, huge}), std::pair(Extent(16, 96), std::int64_t{80}));
  EXPECT_EQ(bytes({3, 10, 2 * huge}), std::pair(Extent(40, 48), std::int64_t{8}));
  EXPECT_EQ(bytes({3, 10, huge, 2}), std::pair(Extent(40, 56), std::int64_t{16}));
  EXPECT_EQ(bytes({0, 10, 5, 4}), std::pair(Extent(16, 88), std::int64_t{64}));
  EXPECT_THROW(lower(layout, Section({IndexList{4, 2, 3}}), nullptr, {3 * huge}), Error);
}

TEST(Lower, OffsetsBeyondFourGigabytes) {
  const ArrayLayout layout{{3000000000, 4}, 8, Order::c, 7};
  const FilePattern runs = lower(layout, Section{{0, 3000000000}, {1, 2}});
  EXPECT_EQ(runs.size(), 3000000000 * 8);
  EXPECT_EQ(runs.offset_at(runs.size() - 1), 7 + 2999999999 * 32 + 8 + 7);
  EXPECT_EQ(runs.below(7 + 1500000000 * 32LL), 1500000000 * 8LL);
}

TEST(Layout, RefusesWhatDoesNotFit64Bits) {
  EXPECT_THROW((ArrayLayout{{1LL << 40, 1LL << 30}, 8}).check(), Error);
  EXPECT_THROW((ArrayLayout{{1LL << 40, 0, 1LL << 30}, 8}).check(), Error);
  EXPECT_THROW((ArrayLayout{{2}, 65537}).check(), Error);
  EXPECT_THROW((ArrayLayout{{2}, 0}).check(), Error);
  EXPECT_THROW((ArrayLayout{{1, 1, 1, 1, 1, 1, 1, 1, 1}, 1}).check(), Error);
  EXPECT_NO_THROW((ArrayLayout{{1, 1, 1, 1, 1, 1, 1, 1}, 65536}).check());
}

}  // namespace
