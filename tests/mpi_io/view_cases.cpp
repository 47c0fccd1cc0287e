// Views compared with the list of their bytes, and invalid views.
#include "mpi_io/view.hpp"

#include <limits>

#include "type_cases.hpp"

namespace penstock {
namespace {

std::shared_ptr<const TypeLayout> vector_layout(int count, int length, int stride) {
  Type type;
  MPI_Type_vector(count, length, stride, MPI_INT, &type);
  return layout_of(type);
}

std::shared_ptr<const TypeLayout> indexed_layout(std::vector<int> lengths, std::vector<int> at) {
  Type type;
  MPI_Type_indexed(static_cast<int>(at.size()), lengths.data(), at.data(), MPI_INT, &type);
  return layout_of(type);
}

/// The same with another extent.
std::shared_ptr<const TypeLayout> resized(const std::shared_ptr<const TypeLayout>& layout,
                                          std::int64_t extent) {
  auto made = std::make_shared<TypeLayout>(*layout);
  made->bounds = Bounds::marked(0, extent);
  return made;
}

Places places_of(const std::vector<FilePattern>& patterns) {
  Places all;
  for (const FilePattern& pattern : patterns) {
    const Places some = test::places_of(pattern.nest(), 0, pattern.size());
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// Compares a view with the list of its bytes, from copies of the filetype.
void expect_view(const View& view, std::int64_t displacement, std::int64_t tiles) {
  const TypeLayout& filetype = view.filetype();
  Places stream;
  for (std::int64_t tile = 0; tile < tiles; ++tile)
    for (const std::int64_t place : places_of(filetype))
      stream.push_back(displacement + tile * filetype.extent() + place);
  const std::int64_t size = view.etype_size();
  const std::int64_t etypes = std::ssize(stream) / size;
  for (std::int64_t first = 0; first < etypes; ++first) {
    EXPECT_EQ(view.byte_offset(first), stream[static_cast<std::size_t>(first * size)]);
    for (const std::int64_t bytes : {std::int64_t{1}, size, (etypes - first) * size - 1}) {
      const Places wanted(stream.begin() + first * size, stream.begin() + first * size + bytes);
      EXPECT_EQ(places_of(view.patterns_of(first, bytes)), wanted);
    }
  }
  // The end: behind the last byte of the stream that is in the file.
  for (std::int64_t file_size = 0; file_size <= displacement + filetype.extent(); ++file_size) {
    std::int64_t end = 0;
    for (std::int64_t p = 0; p < std::ssize(stream); ++p)
      if (stream[static_cast<std::size_t>(p)] < file_size) end = p / size + 1;
    EXPECT_EQ(view.end_position(file_size), end) << "file of " << file_size << " bytes";
  }
}

TEST(View, IsBytesAtFirst) {
  const View view;
  EXPECT_TRUE(view.contiguous());
  EXPECT_EQ(view.pattern_of(7, 5).hull(), (Extent{7, 12}));
  EXPECT_EQ(view.end_position(123), 123);
  EXPECT_TRUE(view.patterns_of(3, 0).empty());
}

TEST(View, IsWhatItsTilesAre) {
  const auto ints = layout_of(MPI_INT);
  const View every_other(10, ints, resized(vector_layout(3, 2, 4), 60), ViewUse::write);
  EXPECT_FALSE(every_other.contiguous());
  EXPECT_TRUE(every_other.ascends());
  expect_view(every_other, 10, 4);
  const View list(3, ints, indexed_layout({1, 3, 2}, {1, 4, 9}), ViewUse::write);
  EXPECT_TRUE(list.ascends());
  expect_view(list, 3, 4);
  const View dense(6, ints, vector_layout(3, 1, 1), ViewUse::write);
  EXPECT_TRUE(dense.contiguous());
  expect_view(dense, 6, 4);
}

TEST(View, MayInterleaveItsTiles) {
  // Columns of a matrix of 5 x 4, one after the other.
  const View columns(8, layout_of(MPI_INT), resized(vector_layout(5, 1, 4), 4), ViewUse::write);
  EXPECT_FALSE(columns.ascends());
  EXPECT_EQ(columns.patterns_of(0, 20).size(), 1U);
  EXPECT_EQ(columns.patterns_of(0, 80).size(), 4U);
  expect_view(columns, 8, 4);
  std::vector<std::byte> memory(80);
  const auto patterns = columns.patterns_of(2, 60);
  const auto maps = split(MemoryMap(memory.data(), Nest::run(0, 60)), patterns);
  ASSERT_EQ(maps.size(), patterns.size());
  for (std::size_t i = 0; i < maps.size(); ++i) EXPECT_EQ(maps[i].size(), patterns[i].size());
  EXPECT_EQ(maps[1].at(maps[1].nest().place()), memory.data() + 12);
}

TEST(View, MayOverlapWhereItIsOnlyRead) {
  const auto twice = indexed_layout({4, 4, 2}, {0, 2, 8});
  const View view(4, layout_of(MPI_INT), twice, ViewUse::read);
  EXPECT_FALSE(view.ascends());
  expect_view(view, 4, 3);
  expect_error("overlap", [&] { View(4, layout_of(MPI_INT), twice, ViewUse::write); });
  const View halo(0, layout_of(MPI_INT), vector_layout(4, 3, 2), ViewUse::read);
  expect_view(halo, 0, 3);
  EXPECT_EQ(halo.patterns_of(0, 48).size(), 4U);
}

TEST(View, RefusesWhatTheStandardDoes) {
  const auto ints = layout_of(MPI_INT), shorts = layout_of(MPI_SHORT);
  const auto ok = vector_layout(2, 1, 2);
  expect_error("displacement -1", [&] { View(-1, ints, ok, ViewUse::write); });
  expect_error("whole etypes", [&] { View(0, ints, shorts, ViewUse::read); });
  expect_error("etype has no bytes", [&] { View(0, indexed_layout({}, {}), ints, ViewUse::read); });
  expect_error("must not be negative", [&] {
    View(100, ints, indexed_layout({1, 1}, {-1, 3}), ViewUse::read);
  });
  expect_error("do not ascend: byte 4 comes after byte 12", [&] {
    View(0, ints, indexed_layout({1, 1}, {3, 1}), ViewUse::read);
  });
  const auto backwards = std::make_shared<const TypeLayout>(vector_layout(3, 1, -2)->moved(96));
  expect_error("do not ascend", [&] { View(0, ints, backwards, ViewUse::read); });
  expect_error("extent of 0", [&] { View(0, ints, resized(ok, 0), ViewUse::read); });
  const View view(0, ints, ok, ViewUse::write);
  expect_error("offset -2", [&] { view.pattern_of(-2, 4); });
  expect_error("does not fit 64 bits",
               [&] { view.byte_offset(std::numeric_limits<std::int64_t>::max() / 2); });
}

TEST(View, OfNothingTakesNothing) {
  const View view(16, layout_of(MPI_INT), indexed_layout({}, {}), ViewUse::write);
  EXPECT_TRUE(view.patterns_of(5, 0).empty());
  EXPECT_EQ(view.end_position(100), 0);
  expect_error("no bytes", [&] { view.patterns_of(0, 4); });
}

TEST(View, DoesNotListTurnsWithoutEnd) {
  const View columns(0, layout_of(MPI_INT), resized(vector_layout(2, 1, 1 << 20), 4),
                     ViewUse::write);
  expect_error("turn back", [&] { columns.patterns_of(0, 8 << 20); });
}

TEST(View, CostsItsDescription) {
  const View view(0, layout_of(MPI_INT),
                  resized(vector_layout(1 << 30, 1, 4), std::int64_t{1} << 34), ViewUse::write);
  const FilePattern pattern = view.pattern_of(123'456'789, std::int64_t{40} << 30);
  EXPECT_EQ(pattern.size(), std::int64_t{40} << 30);
  EXPECT_LE(words_of(pattern.nest()), 30U);
  EXPECT_EQ(view.end_position(std::int64_t{1} << 40), std::int64_t{1} << 36);
}

}  // namespace
}  // namespace penstock
