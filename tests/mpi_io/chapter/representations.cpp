// Data representations (MPI 4.1, section 14.5).
#include <algorithm>

#include "chapter.hpp"

using namespace chapter;

namespace {

/// Big-endian.
template <class T>
Bytes big_endian(T value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  std::ranges::reverse(bytes);
  return bytes;
}

void append(Bytes& all, const Bytes& more) {
  all.insert(all.end(), more.begin(), more.end());
}

TEST(External32, BytesInTheFile) {
  File file("external32");
  EXPECT_MPI(MPI_File_set_view(file, rank() * 22, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
  const int number = 0x01020304 + rank();
  const double value = -2.5 - rank();
  const short two[] = {1, static_cast<short>(-2 - rank())};
  const char letters[] = {'a', 'b', 'c', 'd', 'e', 'f'};
  EXPECT_MPI(MPI_File_write_all(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT_MPI(MPI_File_write(file, &value, 1, MPI_DOUBLE, MPI_STATUS_IGNORE));
  EXPECT_MPI(MPI_File_write(file, two, 2, MPI_SHORT, MPI_STATUS_IGNORE));
  EXPECT_MPI(MPI_File_write_all(file, letters, 6, MPI_CHAR, MPI_STATUS_IGNORE));
  file.close();
  barrier();
  Bytes expected;
  for (int r = 0; r < size(); ++r) {
    append(expected, big_endian(0x01020304 + r));
    append(expected, big_endian(-2.5 - r));
    append(expected, big_endian(short{1}));
    append(expected, big_endian(static_cast<short>(-2 - r)));
    append(expected, Bytes{'a', 'b', 'c', 'd', 'e', 'f'});
  }
  EXPECT_EQ(content(file.path), expected);
}

TEST(External32, RoundTripThroughAStridedView) {
  File file("external32_view");
  const Type every(cyclic_ints(rank(), size()));
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, every, "external32", MPI_INFO_NULL));
  std::vector<int> mine(50), back(60, -1);
  for (int i = 0; i < 50; ++i) mine[i] = rank() * 1000 + i;
  MPI_Status status;
  EXPECT_MPI(MPI_File_write_at_all(file, 0, mine.data(), 50, MPI_INT, &status));
  EXPECT_EQ(count_of(status), 50);
  EXPECT_MPI(MPI_File_read_at_all(file, 0, back.data(), 60, MPI_INT, &status));
  EXPECT_EQ(count_of(status), 50);
  mine.resize(60, -1);
  EXPECT_EQ(back, mine);
  MPI_Request request;
  std::ranges::fill(back, -1);
  EXPECT_MPI(MPI_File_iread_at(file, 0, back.data(), 60, MPI_INT, &request));
  EXPECT_MPI(MPI_Wait(&request, &status));
  EXPECT_EQ(count_of(status), 50);
  EXPECT_EQ(back, mine);
  file.close();
  barrier();
  const Bytes all = content(file.path);
  ASSERT_EQ(std::ssize(all), 200 * size());
  const Bytes first = big_endian((size() - 1) * 1000);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), all.begin() + (size() - 1) * 4));
}

TEST(External32, ExtentsInTheFile) {
  const File file("external32_extents");
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
  MPI_Aint extent = 0;
  EXPECT_MPI(MPI_File_get_type_extent(file, MPI_LONG_DOUBLE, &extent));
  EXPECT_EQ(extent, 16);
  EXPECT_MPI(MPI_File_get_type_extent(file, MPI_SHORT, &extent));
  EXPECT_EQ(extent, 2);
}

// A representation of the program's own: every byte of an int is inverted.

int state = 5;

int extent_of_int(MPI_Datatype type, MPI_Aint* extent, void* extra) {
  EXPECT_EQ(extra, &state);
  int bytes = 0;
  MPI_Type_size(type, &bytes);
  *extent = bytes;
  return MPI_SUCCESS;
}

int turn(void* native, MPI_Datatype type, int count, void* file, MPI_Offset position, bool reads) {
  int bytes = 0;
  MPI_Type_size(type, &bytes);
  auto* const mine = static_cast<unsigned char*>(native) + position * bytes;
  auto* const theirs = static_cast<unsigned char*>(file);
  for (int i = 0; i < count * bytes; ++i) {
    if (reads) mine[i] = static_cast<unsigned char>(~theirs[i]);
    else theirs[i] = static_cast<unsigned char>(~mine[i]);
  }
  return MPI_SUCCESS;
}

int read_turned(void* native, MPI_Datatype type, int count, void* file, MPI_Offset position,
                void* extra) {
  EXPECT_EQ(extra, &state);
  return turn(native, type, count, file, position, true);
}

int write_turned(void* native, MPI_Datatype type, int count, void* file, MPI_Offset position,
                 void* extra) {
  EXPECT_EQ(extra, &state);
  return turn(native, type, count, file, position, false);
}

int refuse(void*, MPI_Datatype, int, void*, MPI_Offset, void*) {
  return MPI_ERR_CONVERSION;
}

/// Data written and read in the representation is inverted in the file.
void check_turned(const char* name) {
  File file(name);
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, name, MPI_INFO_NULL));
  const std::vector<int> mine{rank(), 100 + rank(), -7};
  MPI_Status status;
  EXPECT_MPI(MPI_File_write_at_all(file, 3 * rank(), mine.data(), 3, MPI_INT, &status));
  EXPECT_EQ(count_of(status), 3);
  std::vector<int> back(3, 0);
  EXPECT_MPI(MPI_File_read_at_all(file, 3 * rank(), back.data(), 3, MPI_INT, &status));
  EXPECT_EQ(count_of(status), 3);
  EXPECT_EQ(back, mine);
  file.close();
  barrier();
  const std::vector<int> all = values<int>(file.path);
  ASSERT_EQ(std::ssize(all), 3 * size());
  EXPECT_EQ(all[3 * rank() + 1], ~(100 + rank()));
}

#if MPI_VERSION >= 4
int read_turned_c(void* native, MPI_Datatype type, MPI_Count count, void* file, MPI_Offset position,
                  void* extra) {
  return read_turned(native, type, static_cast<int>(count), file, position, extra);
}

int write_turned_c(void* native, MPI_Datatype type, MPI_Count count, void* file,
                   MPI_Offset position, void* extra) {
  return write_turned(native, type, static_cast<int>(count), file, position, extra);
}

TEST(Registered, RepresentationWithLargeCountsConverts) {
  EXPECT_MPI(
      MPI_Register_datarep_c("turned_c", &read_turned_c, &write_turned_c, &extent_of_int, &state));
  check_turned("turned_c");
}

/// Without functions, bytes are not converted.
TEST(Registered, RepresentationWithoutFunctions) {
  EXPECT_MPI(MPI_Register_datarep_c("plain", MPI_CONVERSION_FN_NULL_C, MPI_CONVERSION_FN_NULL_C,
                                    &extent_of_int, &state));
  File file("plain");
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "plain", MPI_INFO_NULL));
  const int mine = 7 + rank();
  EXPECT_MPI(MPI_File_write_at_all(file, rank(), &mine, 1, MPI_INT, MPI_STATUS_IGNORE));
  file.close();
  barrier();
  EXPECT_EQ(values<int>(file.path).at(static_cast<std::size_t>(rank())), mine);
}
#endif

TEST(Registered, RepresentationConverts) {
  EXPECT_MPI(MPI_Register_datarep("turned", &read_turned, &write_turned, &extent_of_int, &state));
  EXPECT_CLASS(MPI_Register_datarep("turned", &read_turned, &write_turned, &extent_of_int, &state),
               MPI_ERR_DUP_DATAREP);
  EXPECT_CLASS(MPI_Register_datarep("native", &read_turned, &write_turned, &extent_of_int, &state),
               MPI_ERR_DUP_DATAREP);
  check_turned("turned");
}

TEST(Registered, ConversionThatFailsIsAnError) {
  EXPECT_MPI(MPI_Register_datarep("refused", &refuse, &refuse, &extent_of_int, &state));
  const File file("refused");
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "refused", MPI_INFO_NULL));
  const int mine = rank();
  EXPECT_CLASS(MPI_File_write_at_all(file, rank(), &mine, 1, MPI_INT, MPI_STATUS_IGNORE),
               MPI_ERR_CONVERSION);
}

TEST(Representation, ThatNobodyKnowsIsRefused) {
  const File file("unknown_datarep");
  EXPECT_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "papyrus", MPI_INFO_NULL),
               MPI_ERR_UNSUPPORTED_DATAREP);
}

/// MPI_LONG has 4 bytes in external32 in MPI 3 and 8 in MPI 4.1: a number that does not fit is
/// refused by every rank, even if only one rank has it.
TEST(External32, NumberThatDoesNotFitIsAnErrorOnAllRanks) {
  const File file("does_not_fit");
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
  MPI_Aint extent = 0;
  EXPECT_MPI(MPI_File_get_type_extent(file, MPI_LONG, &extent));
  const long number = rank() == size() - 1 ? 1L << 40 : 1L;
  const int code = MPI_File_write_at_all(file, rank() * 8, &number, 1, MPI_LONG, MPI_STATUS_IGNORE);
  EXPECT_CLASS(code, extent == 4 ? MPI_ERR_CONVERSION : MPI_SUCCESS);
}

}  // namespace
