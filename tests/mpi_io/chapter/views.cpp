// File views (MPI 4.1, section 14.3). What a view shows is compared with what MPI_Unpack does with
// the same type in memory.
#include <algorithm>
#include <memory>

#include "chapter.hpp"

using namespace chapter;

namespace {

struct Case {
  MPI_Offset displacement;
  MPI_Datatype etype;
  MPI_Datatype filetype;
  int tiles;
};

std::int64_t size_of(MPI_Datatype type) {
  MPI_Count bytes = 0;
  MPI_Type_size_x(type, &bytes);
  return bytes;
}

/// Bytes that no other rank has, and none of them 0.
Bytes data_of(std::int64_t bytes) {
  Bytes data(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<unsigned char>(1 + (i * 7 + static_cast<std::size_t>(rank()) * 61) % 255);
  return data;
}

/// What all ranks together have written, each by its own type, one copy after the other.
Bytes expected_of(const Case& c, Bytes data) {
  MPI_Aint lower = 0, extent = 0, least = 0, true_extent = 0;
  MPI_Type_get_extent(c.filetype, &lower, &extent);
  MPI_Type_get_true_extent(c.filetype, &least, &true_extent);
  std::int64_t bytes = c.displacement + (c.tiles - 1) * extent + least + true_extent, most = 0;
  MPI_Allreduce(&bytes, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  Bytes mine(static_cast<std::size_t>(most)), all(mine.size());
  int position = 0;
  MPI_Unpack(data.data(), static_cast<int>(data.size()), &position, mine.data() + c.displacement,
             c.tiles, c.filetype, MPI_COMM_SELF);
  MPI_Allreduce(mine.data(), all.data(), static_cast<int>(most), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  return all;
}

/// Written in one call, and read in two, which do not begin where a copy of the filetype does.
void check_view(const Case& c) {
  File file("view");
  EXPECT_MPI(MPI_File_set_view(file, c.displacement, c.etype, c.filetype, "native", MPI_INFO_NULL));
  const std::int64_t bytes = size_of(c.filetype) * c.tiles, etype = size_of(c.etype);
  const Bytes data = data_of(bytes);
  MPI_Status status;
  EXPECT_MPI(
      MPI_File_write_all(file, data.data(), static_cast<int>(bytes / etype), c.etype, &status));
  EXPECT_EQ(count_of(status, c.etype), bytes / etype);
  Bytes back(data.size());
  const int first = static_cast<int>(bytes / etype / 3);
  EXPECT_MPI(MPI_File_read_at_all(file, 0, back.data(), first, c.etype, MPI_STATUS_IGNORE));
  EXPECT_MPI(MPI_File_read_at(file, first, back.data() + first * etype,
                              static_cast<int>(bytes / etype) - first, c.etype, &status));
  EXPECT_EQ(back, data);
  file.close();
  barrier();
  EXPECT_EQ(content(file.path), expected_of(c, data));
  barrier();
  if (rank() == 0) MPI_File_delete(file.path.c_str(), MPI_INFO_NULL);
  barrier();
}

TEST(View, OfColumns) {
  const int sizes[] = {13, size() * 3}, counts[] = {13, 3}, first[] = {0, rank() * 3};
  for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
    const int fortran_sizes[] = {sizes[1], sizes[0]}, fortran_counts[] = {3, 13};
    const int fortran_first[] = {first[1], 0};
    const bool c = order == MPI_ORDER_C;
    MPI_Datatype made;
    MPI_Type_create_subarray(2, c ? sizes : fortran_sizes, c ? counts : fortran_counts,
                             c ? first : fortran_first, order, MPI_DOUBLE, &made);
    const Type columns(made);
    check_view({24, MPI_DOUBLE, columns, 3});
  }
}

TEST(View, OfDistributedArrays) {
  const int sizes[] = {17, 9};
  for (const int distribution : {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC})
    for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
      const int distributions[] = {distribution, MPI_DISTRIBUTE_CYCLIC};
      const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
      int grid[] = {0, 0};
      MPI_Dims_create(size(), 2, grid);
      MPI_Datatype made;
      MPI_Type_create_darray(size(), rank(), 2, sizes, distributions, arguments, grid, order,
                             MPI_INT, &made);
      const Type part(made);
      check_view({0, MPI_INT, part, 2});
    }
}

TEST(View, OfResizedTypes) {
  const Type every(cyclic_ints(rank(), size()));
  check_view({5, MPI_INT, every, 40});
}

TEST(View, WithANegativeLowerBound) {
  MPI_Datatype made;
  const MPI_Aint at = rank() * 8;
  MPI_Type_create_hindexed_block(1, 8, &at, MPI_BYTE, &made);
  const Type place(made);
  MPI_Type_create_resized(place, -16, size() * 8, &made);
  const Type resized(made);
  check_view({32, MPI_BYTE, resized, 5});
}

TEST(View, OfNestedTypes) {
  MPI_Datatype made;
  MPI_Type_vector(3, 2, 4, MPI_SHORT, &made);
  const Type inner(made);
  MPI_Type_create_hvector(2, 2, 64, inner, &made);
  const Type outer(made);
  const MPI_Aint at = rank() * 160;
  MPI_Type_create_hindexed_block(1, 1, &at, outer, &made);
  const Type moved(made);
  MPI_Type_create_resized(moved, 0, size() * 160, &made);
  const Type whole(made);
  check_view({2, MPI_SHORT, whole, 4});
}

/// An int and a double with a gap between them, as a compiler lays out a struct.
struct Record {
  int number;
  double value;
};

std::unique_ptr<Type> record_type() {
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {offsetof(Record, number), offsetof(Record, value)};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype made, resized;
  MPI_Type_create_struct(2, lengths, places, types, &made);
  MPI_Type_create_resized(made, 0, sizeof(Record), &resized);
  MPI_Type_free(&made);
  return std::make_unique<Type>(resized);
}

TEST(View, WithAStructAsEtype) {
  const auto record = record_type();
  MPI_Datatype made;
  const MPI_Aint at = rank() * static_cast<MPI_Aint>(sizeof(Record));
  MPI_Type_create_hindexed_block(1, 1, &at, *record, &made);
  const Type place(made);
  MPI_Type_create_resized(place, 0, size() * static_cast<MPI_Aint>(sizeof(Record)), &made);
  const Type mine(made);
  File file("records");
  EXPECT_MPI(MPI_File_set_view(file, 8, *record, mine, "native", MPI_INFO_NULL));
  std::vector<Record> records(20);
  for (int i = 0; i < 20; ++i) records[i] = {rank() * 100 + i, i + 0.5};
  EXPECT_MPI(MPI_File_write_all(file, records.data(), 20, *record, MPI_STATUS_IGNORE));
  MPI_Offset bytes = 0;
  EXPECT_MPI(MPI_File_get_byte_offset(file, 7, &bytes));
  EXPECT_EQ(bytes, 8 + (7 * size() + rank()) * static_cast<MPI_Offset>(sizeof(Record)));
  Record back{};
  MPI_Status status;
  EXPECT_MPI(MPI_File_read_at(file, 19, &back, 1, *record, &status));
  EXPECT_EQ(count_of(status, *record), 1);
  EXPECT_EQ(back.number, rank() * 100 + 19);
  EXPECT_EQ(back.value, 19.5);
  file.close();
  barrier();
  const Bytes all = content(file.path);
  ASSERT_EQ(all.size(), 8 + 20 * size() * sizeof(Record));
  Record last;
  std::memcpy(&last, all.data() + all.size() - sizeof last, sizeof last);
  EXPECT_EQ(last.number, (size() - 1) * 100 + 19);
}

/// Gaps and another order in memory than in the file.
TEST(View, WithAnotherTypeInMemory) {
  File file("memory");
  const Type every(cyclic_ints(rank(), size()));
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, every, "native", MPI_INFO_NULL));
  MPI_Datatype made;
  const int places[] = {6, 0, 3};
  MPI_Type_create_indexed_block(3, 1, places, MPI_INT, &made);
  const Type scattered(made);
  std::vector<int> memory{3, -1, -1, 5, -1, -1, 1};
  EXPECT_MPI(MPI_File_write_all(file, memory.data(), 1, scattered, MPI_STATUS_IGNORE));
  std::vector<int> back(7, 0);
  MPI_Status status;
  EXPECT_MPI(MPI_File_read_at_all(file, 0, back.data(), 1, scattered, &status));
  EXPECT_EQ(count_of(status, scattered), 1);
  EXPECT_EQ(back, (std::vector<int>{3, 0, 0, 5, 0, 0, 1}));
  file.close();
  barrier();
  const std::vector<int> all = values<int>(file.path);
  ASSERT_EQ(std::ssize(all), 3 * size());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(all[i * size() + rank()], 1 + 2 * i);
}

TEST(View, IsToldAsItWasSet) {
  const File file("reported");
  MPI_Offset displacement = -1;
  MPI_Datatype etype, filetype;
  char name[MPI_MAX_DATAREP_STRING + 1];
  EXPECT_MPI(MPI_File_get_view(file, &displacement, &etype, &filetype, name));
  EXPECT_EQ(displacement, 0);
  EXPECT_EQ(etype, MPI_BYTE);
  EXPECT_EQ(filetype, MPI_BYTE);
  EXPECT_STREQ(name, "native");
  {
    const Type every(cyclic_ints(rank(), size()));
    EXPECT_MPI(MPI_File_set_view(file, 44, MPI_INT, every, "internal", MPI_INFO_NULL));
  }  // the program frees its type; the view is still valid
  EXPECT_MPI(MPI_File_get_view(file, &displacement, &etype, &filetype, name));
  EXPECT_EQ(displacement, 44);
  EXPECT_EQ(etype, MPI_INT);
  EXPECT_STREQ(name, "internal");
  MPI_Aint lower = -1, extent = 0;
  MPI_Type_get_extent(filetype, &lower, &extent);
  EXPECT_EQ(extent, size() * static_cast<MPI_Aint>(sizeof(int)));
  EXPECT_EQ(size_of(filetype), static_cast<std::int64_t>(sizeof(int)));
  EXPECT_MPI(MPI_Type_free(&filetype));
  const int one = rank();
  EXPECT_MPI(MPI_File_write_at_all(file, 2, &one, 1, MPI_INT, MPI_STATUS_IGNORE));
  MPI_Offset at = 0;
  EXPECT_MPI(MPI_File_get_byte_offset(file, 2, &at));
  EXPECT_EQ(at, 44 + (2 * size() + rank()) * 4);
}

/// Ranks may have views of their own: what the standard wants alike are etype extents and datarep.
TEST(View, DiffersFromRankToRank) {
  File file("differs");
  EXPECT_MPI(MPI_File_set_view(file, rank() * 100, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL));
  const std::vector<char> mine(100, static_cast<char>('a' + rank()));
  EXPECT_MPI(MPI_File_write_all(file, mine.data(), 100, MPI_CHAR, MPI_STATUS_IGNORE));
  file.close();
  barrier();
  const Bytes all = content(file.path);
  ASSERT_EQ(std::ssize(all), 100 * size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], 'a' + i / 100);
}

TEST(View, BeginsWhereASequentialFileIs) {
  File file("sequential", MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL);
  const int header = 4711;
  EXPECT_MPI(MPI_File_write_ordered(file, &header, rank() == 0, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT_MPI(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_DOUBLE, MPI_DOUBLE, "native",
                               MPI_INFO_NULL));
  MPI_Offset displacement = -1;
  MPI_Datatype etype, filetype;
  char name[MPI_MAX_DATAREP_STRING + 1];
  EXPECT_MPI(MPI_File_get_view(file, &displacement, &etype, &filetype, name));
  EXPECT_EQ(displacement, 4);
  const double mine = rank() + 0.25;
  EXPECT_MPI(MPI_File_write_ordered(file, &mine, 1, MPI_DOUBLE, MPI_STATUS_IGNORE));
  file.close();
  barrier();
  const Bytes all = content(file.path);
  ASSERT_EQ(std::ssize(all), 4 + 8 * size());
  double last = 0;
  std::memcpy(&last, all.data() + all.size() - 8, 8);
  EXPECT_EQ(last, size() - 1 + 0.25);
}

}  // namespace
