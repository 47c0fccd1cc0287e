// Runs against the list of bytes that they stand for.
#include <gtest/gtest.h>

#include <random>

#include "access/footprint.hpp"
#include "access/wire.hpp"

#include <penstock/error.hpp>

using namespace penstock;

namespace {

struct Random {
  std::mt19937_64 engine;
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(high - low + 1));
  }
};

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

/// Every selected byte of one piece: file offset and memory offset, in packed order.
struct Bytes {
  std::vector<std::int64_t> file, memory;
};
Bytes bytes_of(const Runs& runs, std::int64_t begin, std::int64_t end) {
  Bytes bytes;
  std::int64_t packed = begin;
  runs.for_each(begin, end, [&](const Batch& b) {
    EXPECT_EQ(b.packed, packed);
    for (std::int64_t i = 0; i < b.count; ++i)
      for (std::int64_t k = 0; k < b.run; ++k) {
        bytes.file.push_back(b.file + i * b.file_step + k);
        bytes.memory.push_back(b.memory + i * b.memory_step + k);
      }
    packed += b.run * b.count;
  });
  EXPECT_EQ(packed, end);
  return bytes;
}

class RandomRuns : public testing::TestWithParam<int> {};

TEST_P(RandomRuns, AnswerAsTheListOfTheirBytesDoes) {
  Random r{std::mt19937_64(static_cast<std::uint64_t>(GetParam()))};
  ArrayLayout layout;
  const std::int64_t dims = r.in(1, 4);
  for (std::int64_t d = 0; d < dims; ++d) layout.shape.push_back(r.in(1, 7));
  layout.element_size = r.in(1, 5);
  layout.order = r.in(0, 1) ? Order::c : Order::fortran;
  layout.offset = r.in(0, 9);
  std::vector<Indices> dimensions;
  for (const auto n : layout.shape) dimensions.push_back(random_indices(r, n));
  const Section section(dimensions);
  const auto strides = dense_strides(section.shape(), layout.element_size + r.in(0, 2), Order::c);
  const auto file_side = Runs::of(layout, section);
  const auto both = Runs::of(layout, section, &strides);
  ASSERT_EQ(file_side.size(), both.size());
  std::int64_t total = 0;
  for (std::size_t i = 0; i < both.size(); ++i) {
    const Bytes all = bytes_of(both[i], 0, both[i].size());
    ASSERT_TRUE(std::is_sorted(all.file.begin(), all.file.end()));
    ASSERT_TRUE(std::adjacent_find(all.file.begin(), all.file.end()) == all.file.end());
    EXPECT_EQ(all.file, bytes_of(file_side[i], 0, file_side[i].size()).file);
    EXPECT_EQ(both[i].hull(), (Extent{all.file.front(), all.file.back() + 1}));
    for (std::int64_t p = 0; p < both[i].size(); ++p) EXPECT_EQ(both[i].offset_at(p), all.file[p]);
    for (std::int64_t x = 0; x < layout.extent().end + 3; ++x)
      EXPECT_EQ(file_side[i].below(x),
                std::lower_bound(all.file.begin(), all.file.end(), x) - all.file.begin());
    const std::int64_t begin = r.in(0, both[i].size()), end = r.in(begin, both[i].size());
    const Bytes part = bytes_of(both[i], begin, end);
    EXPECT_TRUE(std::equal(part.file.begin(), part.file.end(), all.file.begin() + begin));
    EXPECT_TRUE(std::equal(part.memory.begin(), part.memory.end(), all.memory.begin() + begin));
    total += both[i].size();
  }
  EXPECT_EQ(total, section.element_count() * layout.element_size);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRuns, testing::Range(0, 300));

TEST(Runs, ContiguousSectionsAreOneRun) {
  const ArrayLayout layout{{100, 200, 300}, 8, Order::c, 0};
  EXPECT_EQ(Runs::of(layout, Section::all(layout.shape))[0].run_length(), 100 * 200 * 300 * 8);
  EXPECT_EQ(
      Runs::of(layout, Section{{5, 9}, {0, 200}, {0, 300}})[0].run_count(0, 4 * 200 * 300 * 8), 1);
  EXPECT_EQ(Runs::of(layout, Section{{0, 100}, {0, 10}, {0, 300}})[0].run_length(), 10 * 300 * 8);
}

TEST(Runs, OffsetsBeyondFourGigabytes) {
  const ArrayLayout layout{{3000000000, 4}, 8, Order::c, 7};
  const Runs runs = Runs::of(layout, Section{{0, 3000000000}, {1, 2}})[0];
  EXPECT_EQ(runs.size(), 3000000000 * 8);
  EXPECT_EQ(runs.offset_at(runs.size() - 1), 7 + 2999999999 * 32 + 8 + 7);
  EXPECT_EQ(runs.below(7 + 1500000000 * 32LL), 1500000000 * 8LL);
}

TEST(Footprint, FindsTheNextAndThePreviousByte) {
  const ArrayLayout layout{{10}, 1, Order::c, 0};
  const std::vector<Section> sections{Section{{2, 3}}, Section{{6, 8}}};
  const Footprint footprint(layout, sections);
  EXPECT_EQ(footprint.next(0), 2);
  EXPECT_EQ(footprint.next(3), 6);
  EXPECT_EQ(footprint.next(7), 7);
  EXPECT_EQ(footprint.next(8), Footprint::nowhere);
  EXPECT_EQ(footprint.previous_end(6), 3);
  EXPECT_EQ(footprint.previous_end(2), -1);
  EXPECT_EQ(footprint.bytes_in({2, 7}), 2);
}

TEST(Wire, SectionsArriveAsTheyWereSent) {
  const std::vector<Section> sections{Section{{0, 5, 2, 2}, {1, 9}},
                                      Section({IndexList{3, 1}, Range{0, 2}}),
                                      Section::extents({{1, 2}, {5, 9}}), Section()};
  EXPECT_EQ(from_words(to_words(sections)), sections);
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
