// Visibility of writes (MPI 4.1, section 14.6).
#include <sys/wait.h>

#include <algorithm>
#include <random>
#include <utility>

#include "chapter.hpp"

using namespace chapter;

namespace {

std::vector<int> block_of(int owner, int step) {
  return std::vector<int>(ints, step * 100 + owner);
}

MPI_Offset place_of(int owner) {
  return owner * ints * static_cast<MPI_Offset>(sizeof(int));
}

int next() {
  return (rank() + 1) % size();
}

std::vector<int> read_block(MPI_File file, int owner) {
  std::vector<int> back(ints, -1);
  MPI_Status status;
  EXPECT_MPI(MPI_File_read_at(file, place_of(owner), back.data(), ints, MPI_INT, &status));
  EXPECT_EQ(count_of(status), ints);
  return back;
}

void write_block(MPI_File file, int step, bool collective) {
  const std::vector<int> mine = block_of(rank(), step);
  const auto write = collective ? &MPI_File_write_at_all : &MPI_File_write_at;
  EXPECT_MPI(write(file, place_of(rank()), mine.data(), ints, MPI_INT, MPI_STATUS_IGNORE));
}

/// Ranks that opened the file together.
TEST(Consistency, WriteThenBarrierThenAnotherRankReads) {
  const File file("barrier");
  for (int step = 0; step < 6; ++step) {
    write_block(file, step, step % 2 == 0);
    barrier();
    EXPECT_EQ(read_block(file, next()), block_of(next(), step));
    barrier();
  }
}

/// Two handles of the file: what one has synchronised, the other one reads.
TEST(Consistency, SyncThenBarrierThenSyncThenAnotherHandleReads) {
  const File written("sync");
  const File alone("sync", MPI_MODE_RDWR, MPI_INFO_NULL, MPI_COMM_SELF);
  for (int step = 0; step < 4; ++step) {
    write_block(written, step, step % 2 == 0);
    EXPECT_MPI(MPI_File_sync(written));
    barrier();
    EXPECT_MPI(MPI_File_sync(alone));
    EXPECT_EQ(read_block(alone, next()), block_of(next(), step));
    barrier();
  }
}

/// Another program, which reads by system calls.
int found_by_another_process(const std::string& path, int expected) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<int> all(static_cast<std::size_t>(ints));
    const int fd = ::open(path.c_str(), O_RDONLY);
    const ssize_t bytes = fd < 0 ? -1 : ::read(fd, all.data(), all.size() * sizeof(int));
    const bool whole = bytes == static_cast<ssize_t>(all.size() * sizeof(int));
    _exit(whole && std::ranges::count(all, expected) == ints ? 0 : 1);
  }
  int state = -1;
  ::waitpid(child, &state, 0);
  return WEXITSTATUS(state);
}

TEST(Consistency, AnotherProcessReadsAfterSyncAndAfterClose) {
  File file("posix");
  for (const bool collective : {true, false}) {
    write_block(file, 3 + collective, collective);
    EXPECT_MPI(MPI_File_sync(file));
    if (rank() == 0) EXPECT_EQ(found_by_another_process(file.path, (3 + collective) * 100), 0);
    barrier();
  }
  write_block(file, 7, false);
  file.close();
  barrier();
  if (rank() == 0) EXPECT_EQ(found_by_another_process(file.path, 700), 0);
  barrier();
}

TEST(Consistency, WhatOneProcessWroteItReadsAtOnce) {
  const File file("own");
  for (int step = 0; step < 20; ++step) {
    write_block(file, step, step % 3 == 0);
    EXPECT_EQ(read_block(file, rank()), block_of(rank(), step));
  }
}

/// A process's writes to its part of a view with gaps, by calls of all kinds, each of which may be
/// buffered or go to the file at once.
class OwnPart {
 public:
  explicit OwnPart(MPI_File file) : file_(file), written_(length, 0) {
    const Type mine(cyclic_ints(rank(), 4 * size()));
    EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, mine, "native", MPI_INFO_NULL));
    EXPECT_MPI(MPI_File_write_at_all(file, 0, written_.data(), length, MPI_INT, MPI_STATUS_IGNORE));
  }
  void write(bool blocking, int step) {
    const auto [at, count] = somewhere();
    std::fill_n(written_.begin() + at, count, step);
    std::vector<int> data(count, step);
    MPI_Request request = MPI_REQUEST_NULL;
    if (blocking)
      EXPECT_MPI(MPI_File_write_at(file_, at, data.data(), count, MPI_INT, MPI_STATUS_IGNORE));
    else EXPECT_MPI(MPI_File_iwrite_at(file_, at, data.data(), count, MPI_INT, &request));
    EXPECT_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  void check(bool collective, int step) {
    const auto [at, count] = somewhere();
    std::vector<int> back(count, -1);
    const auto read = collective ? &MPI_File_read_at_all : &MPI_File_read_at;
    EXPECT_MPI(read(file_, at, back.data(), count, MPI_INT, MPI_STATUS_IGNORE));
    EXPECT_TRUE(std::equal(back.begin(), back.end(), written_.begin() + at)) << "step " << step;
  }

 private:
  static constexpr int length = 8000;
  std::pair<int, int> somewhere() {
    const int at = static_cast<int>(random_() % (length - 1500));
    return {at, 1 + static_cast<int>(random_() % 1500)};
  }

  MPI_File file_;
  std::vector<int> written_;
  std::minstd_rand random_{static_cast<unsigned>(1 + rank())};
};

/// Its later writes win, and its reads see them.
TEST(Consistency, CallsOfOneProcessTakeEffectInTheirOrder) {
  for (const char* const buffer_size : {"64M", "64K", "0"}) {
    const Info info{{"penstock_active_buffer_size", buffer_size}};
    const File file(std::string("order") + buffer_size, MPI_MODE_RDWR | MPI_MODE_CREATE, info);
    OwnPart part(file);
    std::minstd_rand common(7);
    for (int step = 1; step <= 400; ++step) {
      const auto kind = common() / 1000 % 4;
      if (kind < 2) part.write(kind == 0, step);
      else part.check(kind == 2, step);
    }
  }
}

/// Another rank, which may still be in the call, writes them for it.
void check_interleaved(MPI_File file, int step, int kind) {
  std::vector<int> mine = block_of(rank(), step), back(ints, -1);
  MPI_Request request;
  if (kind == 0) {
    EXPECT_MPI(MPI_File_write_at_all(file, 0, mine.data(), ints, MPI_INT, MPI_STATUS_IGNORE));
  } else if (kind == 1) {
    EXPECT_MPI(MPI_File_write_at_all_begin(file, 0, mine.data(), ints, MPI_INT));
    EXPECT_MPI(MPI_File_write_at_all_end(file, mine.data(), MPI_STATUS_IGNORE));
  } else {
    EXPECT_MPI(MPI_File_iwrite_at_all(file, 0, mine.data(), ints, MPI_INT, &request));
    EXPECT_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  EXPECT_MPI(MPI_File_read_at(file, 0, back.data(), ints, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT_EQ(back, mine) << "step " << step << ", kind " << kind;
}

TEST(Consistency, WhatOneProcessWroteCollectivelyItReadsAtOnce) {
  const Type every(cyclic_ints(rank(), size()));
  for (const char* const method : {"auto", "two-phase", "extended"}) {
    const Info info{{"penstock_method", method}};
    const File file("own_interleaved", MPI_MODE_RDWR | MPI_MODE_CREATE, info);
    EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, every, "native", MPI_INFO_NULL));
    for (int step = 0; step < 60; ++step) check_interleaved(file, step, step % 3);
  }
}

/// The end of the write is signalled by a message, not by a barrier: each rank reads the next
/// rank's block.
TEST(Consistency, WhatWasWrittenCollectivelyIsReadAfterAMessage) {
  const File file("message");
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  MPI_Datatype made;
  MPI_Type_vector(ints, 1, 2, MPI_INT, &made);
  const Type gaps(made);
  for (int step = 0; step < 60; ++step) {
    const std::vector<int> mine(2 * ints, step * 100 + rank());
    EXPECT_MPI(MPI_File_write_at_all(file, rank() * ints, mine.data(), 1, gaps, MPI_STATUS_IGNORE));
    int reported = -1;
    MPI_Sendrecv(&step, 1, MPI_INT, (rank() + size() - 1) % size(), 3, &reported, 1, MPI_INT,
                 next(), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::vector<int> back(ints, -1);
    EXPECT_MPI(
        MPI_File_read_at(file, next() * ints, back.data(), ints, MPI_INT, MPI_STATUS_IGNORE));
    EXPECT_EQ(back, block_of(next(), step));
    barrier();
  }
}

TEST(Consistency, AtomicityIsSetAndTold) {
  const File file("flag");
  int flag = 7;
  EXPECT_MPI(MPI_File_get_atomicity(file, &flag));
  EXPECT_EQ(flag, 0);
  EXPECT_MPI(MPI_File_set_atomicity(file, 1));
  EXPECT_MPI(MPI_File_get_atomicity(file, &flag));
  EXPECT_EQ(flag, 1);
  EXPECT_MPI(MPI_File_set_atomicity(file, 0));
  EXPECT_MPI(MPI_File_get_atomicity(file, &flag));
  EXPECT_EQ(flag, 0);
}

/// All ranks write the same places at the same time: all bytes are from one of them.
void check_overlapping(MPI_File file, int step, bool collective) {
  write_block(file, 0, collective);
  const std::vector<int> mine = block_of(rank() + 1, step);
  const auto write = collective ? &MPI_File_write_at_all : &MPI_File_write_at;
  barrier();
  EXPECT_MPI(write(file, 0, mine.data(), ints, MPI_INT, MPI_STATUS_IGNORE));
  barrier();
  const std::vector<int> all = read_block(file, 0);
  EXPECT_EQ(std::ranges::count(all, all.front()), ints);
  EXPECT_GE(all.front(), step * 100 + 1);
  EXPECT_LE(all.front(), step * 100 + size());
  barrier();
}

TEST(Consistency, AtomicWritesThatOverlapAreOfOneRank) {
  const File file("overlap");
  EXPECT_MPI(MPI_File_set_atomicity(file, 1));
  for (int step = 1; step <= 6; ++step) check_overlapping(file, step, step % 2 == 0);
}

/// The same through views with holes: each access has many pieces.
TEST(Consistency, AtomicWritesWithHolesAreOfOneRank) {
  const Type every(cyclic_ints(0, 3));
  const File file("overlap_holes");
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, every, "native", MPI_INFO_NULL));
  EXPECT_MPI(MPI_File_set_atomicity(file, 1));
  std::vector<int> back(ints);
  for (int step = 1; step <= 6; ++step) {
    const std::vector<int> mine = block_of(rank() + 1, step);
    const auto write = step % 2 == 0 ? &MPI_File_write_at_all : &MPI_File_write_at;
    EXPECT_MPI(write(file, 0, mine.data(), ints, MPI_INT, MPI_STATUS_IGNORE));
    barrier();
    EXPECT_MPI(MPI_File_read_at(file, 0, back.data(), ints, MPI_INT, MPI_STATUS_IGNORE));
    EXPECT_EQ(std::ranges::count(back, back.front()), ints);
    barrier();
  }
}

/// The last rank writes, the others read meanwhile: each read returns the old or the new state.
TEST(Consistency, AtomicReadsSeeAWriteWholeOrNotAtAll) {
  const File file("readers");
  EXPECT_MPI(MPI_File_set_atomicity(file, 1));
  if (rank() == 0) write_block(file, 0, false);
  barrier();
  for (int step = 1; step <= 20; ++step) {
    if (rank() == size() - 1) {
      const std::vector<int> mine = block_of(0, step);
      EXPECT_MPI(MPI_File_write_at(file, 0, mine.data(), ints, MPI_INT, MPI_STATUS_IGNORE));
    } else {
      const std::vector<int> seen = read_block(file, 0);
      EXPECT_EQ(std::ranges::count(seen, seen.front()), ints);
    }
  }
  barrier();
  EXPECT_EQ(read_block(file, 0).front(), 2000);
}

/// In atomic mode every write is visible to the others at once.
TEST(Consistency, AtomicWritesAreSeenAtOnce) {
  const File file("at_once");
  EXPECT_MPI(MPI_File_set_atomicity(file, 1));
  for (int step = 0; step < 4; ++step) {
    write_block(file, step, false);
    barrier();
    const std::vector<int> other = values<int>(file.path);
    ASSERT_EQ(std::ssize(other), size() * ints);
    EXPECT_EQ(other[next() * ints], step * 100 + next());
    barrier();
  }
}

}  // namespace
