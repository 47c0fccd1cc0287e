// Individual and shared file pointers (MPI 4.1, sections 14.4.3 and 14.4.4).
#include <algorithm>
#include <numeric>

#include "chapter.hpp"

using namespace chapter;

namespace {

MPI_Offset position(MPI_File file) {
  MPI_Offset at = -1;
  EXPECT_MPI(MPI_File_get_position(file, &at));
  return at;
}

MPI_Offset shared_position(MPI_File file) {
  MPI_Offset at = -1;
  EXPECT_MPI(MPI_File_get_position_shared(file, &at));
  return at;
}

TEST(Pointers, AreMovedByEveryRankForItself) {
  const File file("own_pointer");
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  EXPECT_EQ(position(file), 0);
  EXPECT_MPI(MPI_File_seek(file, 10 + rank(), MPI_SEEK_SET));
  EXPECT_MPI(MPI_File_seek(file, -3, MPI_SEEK_CUR));
  EXPECT_EQ(position(file), 7 + rank());
  EXPECT_CLASS(MPI_File_seek(file, -100, MPI_SEEK_CUR), MPI_ERR_ARG);
  EXPECT_EQ(position(file), 7 + rank());
  EXPECT_MPI(MPI_File_seek(file, 0, MPI_SEEK_END));
  EXPECT_EQ(position(file), 0);
}

/// Files of 0 to 40 bytes, of which a rank sees every size()-th int from its own on: the end is the
/// first etype after which no byte is in the file.
TEST(Pointers, SeekFromTheEndOfAStridedView) {
  const Type every(cyclic_ints(rank(), size()));
  for (int bytes = 0; bytes <= 40; ++bytes) {
    const File file("strided");
    EXPECT_MPI(MPI_File_set_size(file, bytes));
    EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, every, "native", MPI_INFO_NULL));
    MPI_Offset expected = 0;
    while ((expected * size() + rank()) * 4 < bytes) ++expected;
    EXPECT_MPI(MPI_File_seek(file, 0, MPI_SEEK_END));
    EXPECT_EQ(position(file), expected) << bytes << " bytes";
    EXPECT_MPI(MPI_File_seek(file, 2, MPI_SEEK_END));
    EXPECT_EQ(position(file), expected + 2);
    if (expected > 0) {
      EXPECT_MPI(MPI_File_seek(file, -1, MPI_SEEK_END));
      EXPECT_EQ(position(file), expected - 1);
    }
  }
}

/// Writes count that are not in the file yet.
TEST(Pointers, SeekFromTheEndOfWhatWasWritten) {
  const File file("end_of_written");
  const std::vector<char> mine(1000, 'x');
  EXPECT_MPI(
      MPI_File_write_at_all(file, rank() * 1000, mine.data(), 1000, MPI_CHAR, MPI_STATUS_IGNORE));
  barrier();
  EXPECT_MPI(MPI_File_seek(file, 0, MPI_SEEK_END));
  EXPECT_EQ(position(file), 1000 * size());
}

/// The file ends within an int: reads of all kinds leave the pointer behind it.
TEST(Pointers, AreBehindAnEtypeThatTheFileCutsOff) {
  const File file("cut_off");
  EXPECT_MPI(MPI_File_set_size(file, 4003));
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  std::vector<int> back(100000);
  for (const int count : {10, 100000})
    for (const auto read : {&MPI_File_read, &MPI_File_read_all}) {
      EXPECT_MPI(MPI_File_seek(file, 998, MPI_SEEK_SET));
      MPI_Status status;
      EXPECT_MPI(read(file, back.data(), count, MPI_INT, &status));
      EXPECT_EQ(count_of(status, MPI_BYTE), 11);
      MPI_Offset position = -1;
      EXPECT_MPI(MPI_File_get_position(file, &position));
      EXPECT_EQ(position, 1001) << count << " ints";
    }
}

TEST(Pointers, SharedOneIsMovedByAll) {
  const File file("shared");
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  EXPECT_EQ(shared_position(file), 0);
  barrier();
  const std::vector<int> mine(5, rank());
  EXPECT_MPI(MPI_File_write_shared(file, mine.data(), 5, MPI_INT, MPI_STATUS_IGNORE));
  barrier();
  EXPECT_EQ(shared_position(file), 5 * size());
  EXPECT_MPI(MPI_File_seek_shared(file, 3, MPI_SEEK_SET));
  EXPECT_EQ(shared_position(file), 3);
  EXPECT_MPI(MPI_File_seek_shared(file, 4, MPI_SEEK_CUR));
  EXPECT_EQ(shared_position(file), 7);
  EXPECT_MPI(MPI_File_seek_shared(file, -1, MPI_SEEK_END));
  EXPECT_EQ(shared_position(file), 5 * size() - 1);
  EXPECT_EQ(position(file), 0);  // independent of the shared one
}

/// Rank r writes r * 3 ints, rank 0 none; then only the last rank writes; then nobody.
TEST(Pointers, OrderedCallsGoByRank) {
  File file("ordered");
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  const auto write = [&](int count, int value) {
    const std::vector<int> mine(static_cast<std::size_t>(count), value);
    MPI_Status status;
    EXPECT_MPI(MPI_File_write_ordered(file, mine.data(), count, MPI_INT, &status));
    EXPECT_EQ(count_of(status), count);
  };
  write(rank() * 3, rank());
  const int first = 3 * size() * (size() - 1) / 2;
  EXPECT_EQ(shared_position(file), first);
  barrier();
  write(rank() == size() - 1 ? 4 : 0, 99);
  write(0, -1);
  EXPECT_EQ(shared_position(file), first + 4);
  EXPECT_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  std::vector<int> back(static_cast<std::size_t>(rank()) * 3, -1);
  EXPECT_MPI(MPI_File_read_ordered(file, back.data(), rank() * 3, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT_EQ(std::ranges::count(back, rank()), std::ssize(back));
  file.close();
  barrier();
  std::vector<int> expected;
  for (int r = 0; r < size(); ++r) expected.insert(expected.end(), 3 * r, r);
  expected.insert(expected.end(), 4, 99);
  EXPECT_EQ(values<int>(file.path), expected);
}

/// Ranks draw records, as from a queue of work.
TEST(Pointers, SharedReadsDrawEachRecordOnce) {
  constexpr int records = 200;
  std::vector<int> all(records);
  std::iota(all.begin(), all.end(), 1);
  make_file(path_of("queue"), all);
  const File file("queue", MPI_MODE_RDONLY);
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  std::int64_t drawn = 0, total = 0;
  for (;;) {
    int record = 0;
    MPI_Status status;
    EXPECT_MPI(MPI_File_read_shared(file, &record, 1, MPI_INT, &status));
    if (count_of(status) == 0) break;
    ++drawn;
    total += record;
  }
  EXPECT_EQ(sum(drawn), records);
  EXPECT_EQ(sum(total), records * (records + 1) / 2);
}

TEST(Pointers, BeginAtTheEndWhereAFileIsAppendedTo) {
  make_file(path_of("append"), std::vector<char>(37, 'a'));
  File file("append", MPI_MODE_WRONLY | MPI_MODE_APPEND);
  EXPECT_EQ(position(file), 37);
  EXPECT_EQ(shared_position(file), 37);
  barrier();
  const char mine = 'b';
  EXPECT_MPI(MPI_File_write_ordered(file, &mine, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  file.close();
  barrier();
  const Bytes all = content(file.path);
  EXPECT_EQ(std::ssize(all), 37 + size());
  EXPECT_EQ(std::ranges::count(all, 'b'), size());
  EXPECT_EQ(all.back(), 'b');
}

TEST(Pointers, BeginAnewWithAView) {
  const File file("anew");
  EXPECT_MPI(MPI_File_seek(file, 100, MPI_SEEK_SET));
  EXPECT_MPI(MPI_File_seek_shared(file, 50, MPI_SEEK_SET));
  EXPECT_MPI(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  EXPECT_EQ(position(file), 0);
  EXPECT_EQ(shared_position(file), 0);
}

}  // namespace
