// Every data access routine (MPI 4.1, table 14.1), including those with large counts.
#include <functional>
#include <numeric>

#include "chapter.hpp"

using namespace chapter;

namespace {

/// The position: an offset of the caller, or that of the shared pointer.
enum class At { place, shared, ordered };

struct Routine {
  const char* name;
  At at;
  std::function<void(MPI_File, MPI_Offset, int*, int, MPI_Status*)> run;
};

void seek(MPI_File file, MPI_Offset offset) {
  EXPECT_MPI(MPI_File_seek(file, offset, MPI_SEEK_SET));
}

void expect_position(MPI_File file, MPI_Offset expected) {
  MPI_Offset position = -1;
  EXPECT_MPI(MPI_File_get_position(file, &position));
  EXPECT_EQ(position, expected);
}

#define ROUTINE(name, at, body)                                                              \
  Routine {                                                                                  \
    #name, at,                                                                               \
        [](MPI_File f, [[maybe_unused]] MPI_Offset o, int* b, int n, MPI_Status* s) { body } \
  }
#define AT(name) ROUTINE(name, At::place, EXPECT_MPI(name(f, o, b, n, MPI_INT, s));)
#define IAT(name)                                                                    \
  ROUTINE(name, At::place, MPI_Request r; EXPECT_MPI(name(f, o, b, n, MPI_INT, &r)); \
          EXPECT_MPI(MPI_Wait(&r, s)); EXPECT_EQ(r, MPI_REQUEST_NULL);)
#define SPLIT_AT(begin, end) \
  ROUTINE(begin, At::place, EXPECT_MPI(begin(f, o, b, n, MPI_INT)); EXPECT_MPI(end(f, b, s));)
#define INDIVIDUAL(name)                                                      \
  ROUTINE(name, At::place, seek(f, o); EXPECT_MPI(name(f, b, n, MPI_INT, s)); \
          expect_position(f, o + count_of(*s));)
#define I_INDIVIDUAL(name)                                                                    \
  ROUTINE(name, At::place, seek(f, o); MPI_Request r; EXPECT_MPI(name(f, b, n, MPI_INT, &r)); \
          expect_position(f, o + n); EXPECT_MPI(MPI_Wait(&r, s));)
#define SPLIT_INDIVIDUAL(begin, end)                                         \
  ROUTINE(begin, At::place, seek(f, o); EXPECT_MPI(begin(f, b, n, MPI_INT)); \
          EXPECT_MPI(end(f, b, s)); expect_position(f, o + n);)
#define SHARED(name) ROUTINE(name, At::shared, EXPECT_MPI(name(f, b, n, MPI_INT, s));)
#define I_SHARED(name)                                                             \
  ROUTINE(name, At::shared, MPI_Request r; EXPECT_MPI(name(f, b, n, MPI_INT, &r)); \
          EXPECT_MPI(MPI_Wait(&r, s));)
#define ORDERED(name) ROUTINE(name, At::ordered, EXPECT_MPI(name(f, b, n, MPI_INT, s));)
#define SPLIT_ORDERED(begin, end) \
  ROUTINE(begin, At::ordered, EXPECT_MPI(begin(f, b, n, MPI_INT)); EXPECT_MPI(end(f, b, s));)

/// `direction`: read or write. `c`: nothing, or _c.
#define ALL_ROUTINES(direction, c)                                                           \
  AT(MPI_File_##direction##_at##c), AT(MPI_File_##direction##_at_all##c),                    \
      IAT(MPI_File_i##direction##_at##c), IAT(MPI_File_i##direction##_at_all##c),            \
      SPLIT_AT(MPI_File_##direction##_at_all_begin##c, MPI_File_##direction##_at_all_end),   \
      INDIVIDUAL(MPI_File_##direction##c), INDIVIDUAL(MPI_File_##direction##_all##c),        \
      I_INDIVIDUAL(MPI_File_i##direction##c), I_INDIVIDUAL(MPI_File_i##direction##_all##c),  \
      SPLIT_INDIVIDUAL(MPI_File_##direction##_all_begin##c, MPI_File_##direction##_all_end), \
      SHARED(MPI_File_##direction##_shared##c), I_SHARED(MPI_File_i##direction##_shared##c), \
      ORDERED(MPI_File_##direction##_ordered##c),                                            \
      SPLIT_ORDERED(MPI_File_##direction##_ordered_begin##c, MPI_File_##direction##_ordered_end)

const std::vector<Routine> writers {
  ALL_ROUTINES(write, ),
#if MPI_VERSION >= 4
      ALL_ROUTINES(write, _c)
#endif
};
const std::vector<Routine> readers {
  ALL_ROUTINES(read, ),
#if MPI_VERSION >= 4
      ALL_ROUTINES(read, _c)
#endif
};

constexpr int block = 1000;  // ints of a rank

std::vector<int> block_of(int owner) {
  std::vector<int> all(block);
  std::iota(all.begin(), all.end(), owner * block + 1);
  return all;
}

void set_int_view(MPI_File file) {
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
}

/// Blocks in rank order; with the shared pointer in any order.
void check_written(const Routine& writer, const std::vector<int>& written) {
  ASSERT_EQ(written.size(), static_cast<std::size_t>(size()) * block);
  std::vector<int> seen(static_cast<std::size_t>(size()));
  for (int b = 0; b < size(); ++b) {
    const int owner = writer.at == At::shared ? (written[b * block] - 1) / block : b;
    ASSERT_GE(owner, 0);
    ASSERT_LT(owner, size());
    EXPECT_EQ(++seen[owner], 1);
    EXPECT_EQ(std::vector<int>(written.begin() + b * block, written.begin() + (b + 1) * block),
              block_of(owner));
  }
}

TEST(Access, EveryRoutineWrites) {
  for (const Routine& writer : writers) {
    SCOPED_TRACE(writer.name);
    File file(writer.name);
    set_int_view(file);
    std::vector<int> mine = block_of(rank());
    MPI_Status status;
    writer.run(file, static_cast<MPI_Offset>(rank()) * block, mine.data(), block, &status);
    EXPECT_EQ(count_of(status), block);
    EXPECT_EQ(mine, block_of(rank()));
    file.close();
    barrier();
    check_written(writer, values<int>(file.path));
  }
}

TEST(Access, EveryRoutineReads) {
  std::vector<int> all(static_cast<std::size_t>(size()) * block);
  std::iota(all.begin(), all.end(), 1);
  make_file(path_of("to_read"), all);
  for (const Routine& reader : readers) {
    SCOPED_TRACE(reader.name);
    const File file("to_read", MPI_MODE_RDONLY);
    set_int_view(file);
    std::vector<int> mine(block, -1);
    MPI_Status status;
    reader.run(file, static_cast<MPI_Offset>(rank()) * block, mine.data(), block, &status);
    EXPECT_EQ(count_of(status), block);
    const int owner = (mine.front() - 1) / block;
    if (reader.at != At::shared) EXPECT_EQ(owner, rank());
    EXPECT_EQ(mine, block_of(owner));
    EXPECT_EQ(sum(owner), size() * (size() - 1) / 2);
  }
}

/// A read across the end of the file returns what is there, with the corresponding status.
TEST(Access, EveryRoutineReadsToTheEnd) {
  // Only a third of the last rank's block is in the file.
  constexpr int rest = block / 3;
  std::vector<int> all(static_cast<std::size_t>(size() - 1) * block + rest);
  std::iota(all.begin(), all.end(), 1);
  make_file(path_of("short"), all);
  for (const Routine& reader : readers) {
    SCOPED_TRACE(reader.name);
    const File file("short", MPI_MODE_RDONLY);
    set_int_view(file);
    std::vector<int> mine(block, -1);
    MPI_Status status;
    const MPI_Offset offset = static_cast<MPI_Offset>(rank()) * block;
    reader.run(file, offset, mine.data(), block, &status);
    const int count = count_of(status);
    if (reader.at != At::shared) EXPECT_EQ(count, rank() == size() - 1 ? rest : block);
    EXPECT_EQ(sum(count), std::ssize(all));
    const int owner = (mine.front() - 1) / block;
    std::vector<int> expected = block_of(owner);
    std::fill(expected.begin() + count, expected.end(), -1);
    EXPECT_EQ(mine, expected);
  }
}

TEST(Access, NothingIsWrittenOrRead) {
  for (const auto* const routines : {&writers, &readers})
    for (const Routine& routine : *routines) {
      SCOPED_TRACE(routine.name);
      const File file("nothing");
      set_int_view(file);
      int one = 7;
      MPI_Status status;
      routine.run(file, 0, &one, 0, &status);
      EXPECT_EQ(count_of(status), 0);
      EXPECT_EQ(one, 7);
      MPI_Offset bytes = -1;
      EXPECT_MPI(MPI_File_get_size(file, &bytes));
      EXPECT_EQ(bytes, 0);
    }
}

}  // namespace
