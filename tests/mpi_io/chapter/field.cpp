// Problems that users had with other MPI-IO libraries, and what programs do very often.
#include <sys/resource.h>

#include <algorithm>
#include <numeric>

#include "chapter.hpp"

using namespace chapter;

namespace {

/// Peak memory of this process, in bytes.
std::int64_t most_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

constexpr std::int64_t mebibyte = 1 << 20;

MPI_Datatype resized(MPI_Datatype type, MPI_Aint extent) {
  MPI_Datatype made;
  MPI_Type_create_resized(type, 0, extent, &made);
  return made;
}

TEST(Field, GapsInMemory) {  // mpich#6985
  struct Element {
    double value;
    char gap[16];
  };
  const Type element(resized(MPI_DOUBLE, sizeof(Element)));
  File file("gaps");
  std::vector<Element> mine(1000), back(1000);
  for (int i = 0; i < 1000; ++i) mine[i].value = rank() * 1000 + i;
  MPI_Status status;
  EXPECT_MPI(MPI_File_write_at_all(file, rank() * 8000, mine.data(), 1000, element, &status));
  EXPECT_EQ(count_of(status, element), 1000);
  for (Element& e : back) std::ranges::fill(e.gap, 'g');
  EXPECT_MPI(MPI_File_read_at_all(file, rank() * 8000, back.data(), 1000, element, &status));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(back[i].value, mine[i].value);
    EXPECT_EQ(std::ranges::count(back[i].gap, 'g'), 16);
  }
  file.close();
  barrier();
  std::vector<double> expected(static_cast<std::size_t>(size()) * 1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(values<double>(file.path), expected);
}

TEST(Field, ColumnOfTenMillionRows) {  // mpich#2182
  constexpr int rows = 10'000'000;
  MPI_Datatype made;
  MPI_Type_vector(rows, 1, size(), MPI_INT, &made);
  const Type column(made);
  const MPI_Aint at = rank() * static_cast<MPI_Aint>(sizeof(int));
  MPI_Type_create_hindexed_block(1, 1, &at, column, &made);
  const Type mine(made);
  File file("column");
  const std::int64_t before = most_memory();
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, mine, "native", MPI_INFO_NULL));
  std::vector<int> few(100, rank() + 1), back(100);
  EXPECT_MPI(MPI_File_write_at_all(file, rows - 100, few.data(), 100, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT_MPI(MPI_File_read_at_all(file, rows - 100, back.data(), 100, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT_EQ(back, few);
  EXPECT_LT(most_memory() - before, 24 * mebibyte);
  MPI_Offset bytes = 0;
  EXPECT_MPI(MPI_File_get_size(file, &bytes));
  EXPECT_EQ(bytes, std::int64_t{rows} * size() * 4);
}

TEST(Field, TypeBeyondTwoGibibytes) {  // mpich#7169, #6121 and others
  constexpr MPI_Aint gibibyte = MPI_Aint{1} << 30;
  MPI_Datatype made;
  MPI_Type_create_hvector(3, 1, 3 * gibibyte, MPI_DOUBLE, &made);
  const Type far(made);
  const MPI_Aint at = rank() * 8;
  MPI_Type_create_hindexed_block(1, 1, &at, far, &made);
  const Type moved(made);
  const Type mine(resized(moved, 9 * gibibyte));
  File file("far");
  EXPECT_MPI(MPI_File_set_view(file, 16, MPI_DOUBLE, mine, "native", MPI_INFO_NULL));
  std::vector<double> values(5), back(5);
  std::iota(values.begin(), values.end(), rank() * 10);
  MPI_Status status;
  EXPECT_MPI(MPI_File_write_all(file, values.data(), 5, MPI_DOUBLE, &status));
  EXPECT_EQ(count_of(status, MPI_DOUBLE), 5);
  EXPECT_MPI(MPI_File_read_at_all(file, 0, back.data(), 5, MPI_DOUBLE, MPI_STATUS_IGNORE));
  EXPECT_EQ(back, values);
  MPI_Offset bytes = 0, place = 0;
  EXPECT_MPI(MPI_File_get_byte_offset(file, 4, &place));
  EXPECT_EQ(place, 16 + 12 * gibibyte + rank() * 8);
  EXPECT_MPI(MPI_File_get_size(file, &bytes));
  EXPECT_EQ(bytes, 16 + 12 * gibibyte + size() * 8);
  double last = 0;
  const int fd = ::open(file.path.c_str(), O_RDONLY);
  EXPECT_MPI(MPI_File_sync(file));
  EXPECT_EQ(::pread(fd, &last, 8, place), 8);
  EXPECT_EQ(last, values.back());
  ::close(fd);
}

/// Ranks with and without bytes to write and to read.
void check_shares(const char* name, const std::vector<int>& counts) {
  SCOPED_TRACE(name);
  File file("shares");
  EXPECT_MPI(MPI_File_set_size(file, 0));
  const int count = counts[rank()];
  const int before = std::accumulate(counts.begin(), counts.begin() + rank(), 0);
  const int total = std::accumulate(counts.begin(), counts.end(), 0);
  std::vector<int> mine(static_cast<std::size_t>(count)), back(mine.size(), -1);
  std::iota(mine.begin(), mine.end(), before);
  MPI_Status status;
  EXPECT_MPI(MPI_File_write_at_all(file, before * 4, mine.data(), count, MPI_INT, &status));
  EXPECT_EQ(count_of(status), count);
  EXPECT_MPI(MPI_File_read_at_all(file, before * 4, back.data(), count, MPI_INT, &status));
  EXPECT_EQ(count_of(status), count);
  EXPECT_EQ(back, mine);
  file.close();
  barrier();
  std::vector<int> expected(static_cast<std::size_t>(total));
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(values<int>(file.path), expected);
  barrier();
}

TEST(Field, EmptyRanks) {  // ompi#7414, #7809, hdf5#1227
  const std::vector<int> all(static_cast<std::size_t>(size()), 1000);
  std::vector<int> counts = all;
  counts.front() = 0;
  check_shares("the first", counts);
  counts = all;
  counts.back() = 0;
  check_shares("the last", counts);
  std::ranges::fill(counts, 0);
  check_shares("all", counts);
  counts.back() = 100000;
  check_shares("all but the last", counts);
  std::iota(counts.begin(), counts.end(), 0);
  counts.front() = 200000;
  check_shares("uneven", counts);
}

/// Ranks of even and of odd number open the same file separately, and write interleaved bytes at
/// the same time.
void check_two_groups(bool alone, bool collective) {
  MPI_Comm group = MPI_COMM_SELF;
  if (!alone) MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &group);
  const int amode = MPI_MODE_RDWR | MPI_MODE_CREATE;
  File file("interleaved", amode, MPI_INFO_NULL, group);
  const Type every(resized(MPI_CHAR, size()));
  EXPECT_MPI(MPI_File_set_view(file, rank(), MPI_CHAR, every, "native", MPI_INFO_NULL));
  for (int step = 0; step < 5; ++step) {
    const std::vector<char> mine(3000, static_cast<char>('a' + rank() + 4 * step));
    const auto write = collective ? &MPI_File_write_at_all : &MPI_File_write_at;
    EXPECT_MPI(write(file, 0, mine.data(), 3000, MPI_CHAR, MPI_STATUS_IGNORE));
  }
  file.close();
  if (!alone) MPI_Comm_free(&group);
  barrier();
  const Bytes all = content(file.path);
  ASSERT_EQ(std::ssize(all), 3000 * size());
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    wrong += all[i] != 'a' + i % static_cast<std::size_t>(size()) + 16;
  EXPECT_EQ(wrong, 0);
  barrier();
  if (rank() == 0) ::unlink(file.path.c_str());
  barrier();
}

TEST(Field, TwoGroupsWriteInterleavedBytes) {  // ompi#10546, ompi#4144
  check_two_groups(false, true);
  check_two_groups(false, false);
}

TEST(Field, RanksAloneWriteInterleavedBytes) {
  check_two_groups(true, true);
  check_two_groups(true, false);
}

/// Computation without any MPI calls during a collective call.
TEST(Field, NonblockingCollectiveBesideComputation) {  // mpich#5920, ompi#14278
  File file("compute");
  const Type every(cyclic_ints(rank(), size()));
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, every, "native", MPI_INFO_NULL));
  const std::vector<int> mine(20000, rank() + 1);
  for (int step = 0; step < 5; ++step) {
    MPI_Request request;
    EXPECT_MPI(MPI_File_iwrite_all(file, mine.data(), 20000, MPI_INT, &request));
    volatile double work = 0;
    for (int i = 0; i < 200000; ++i) work = work + i;
    MPI_Status status;
    EXPECT_MPI(MPI_Wait(&request, &status));
    EXPECT_EQ(count_of(status), 20000);
  }
  file.close();
  barrier();
  const std::vector<int> all = values<int>(file.path);
  ASSERT_EQ(std::ssize(all), 100000 * size());
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    wrong += all[i] != 1 + static_cast<int>(i % static_cast<std::size_t>(size()));
  EXPECT_EQ(wrong, 0);
}

void open_write_close(MPI_Comm comm, const std::string& path, int rounds) {
  const std::vector<char> mine(64, 'm');
  MPI_Datatype made;
  for (int i = 0; i < rounds; ++i) {
    MPI_File file;
    MPI_Type_vector(4, 8, 16, MPI_CHAR, &made);
    MPI_Type_commit(&made);
    MPI_File_open(comm, path.c_str(), MPI_MODE_WRONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_CHAR, made, "native", MPI_INFO_NULL);
    EXPECT_MPI(MPI_File_write_at(file, 0, mine.data(), 64, MPI_CHAR, MPI_STATUS_IGNORE));
    EXPECT_MPI(MPI_File_close(&file));
    MPI_Type_free(&made);
  }
}

/// The environment variable PENSTOCK_ROUNDS sets how many.
TEST(Field, RoundsOfOpenWriteAndCloseTakeNoMemory) {
  const char* const asked = std::getenv("PENSTOCK_ROUNDS");
  const int rounds = asked != nullptr ? std::atoi(asked) : 3000;
  const std::string path = path_of("rounds" + std::to_string(rank()));
  open_write_close(MPI_COMM_SELF, path, 500);
  const std::int64_t before = most_memory();
  open_write_close(MPI_COMM_SELF, path, rounds);
  EXPECT_LT(most_memory() - before, mebibyte);
}

/// Errors use codes of the MPI library, which are never freed.
TEST(Field, ErrorsTakeNoMemory) {
  const File file("errors");
  const auto fail = [&](int rounds) {
    for (int i = 0; i < rounds; ++i)
      EXPECT_CLASS(MPI_File_seek(file, -1 - i, MPI_SEEK_SET), MPI_ERR_ARG);
  };
  fail(1000);
  const std::int64_t before = most_memory();
  fail(20000);
  EXPECT_LT(most_memory() - before, mebibyte);
}

/// Two codes of the same class keep their own messages.
TEST(Field, ErrorsKeepTheirWords) {
  const File file("words");
  const int first = MPI_File_seek(file, -111, MPI_SEEK_SET);
  const int second = MPI_File_seek(file, -222, MPI_SEEK_SET);
  EXPECT_NE(text_of(first).find("-111"), std::string::npos) << text_of(first);
  EXPECT_NE(text_of(second).find("-222"), std::string::npos) << text_of(second);
}

}  // namespace
