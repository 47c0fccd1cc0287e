// Changing a view while requests are in flight: each request keeps the view that it began with. The
// standard calls that erroneous (MPI 4.1, section 14.3), but programs do it.
#include <numeric>

#include "chapter.hpp"

using namespace chapter;

namespace {

constexpr int parts =
    3;  // of the file, one after the other, each written through a view of its own

/// Part `part`: the ranks take turns, with a different one first in each.
MPI_Offset begin_of(int part) {
  return MPI_Offset{4} * part * ints * size();
}
int turn_in(int part) {
  return (rank() + part) % size();
}

int set_view_of(MPI_File file, int part) {
  const Type filetype(cyclic_ints(turn_in(part), size()));
  return MPI_File_set_view(file, begin_of(part), MPI_INT, filetype, "native", MPI_INFO_NULL);
}

std::vector<int> numbers_of(int part) {
  std::vector<int> numbers(ints);
  std::iota(numbers.begin(), numbers.end(), 1 + (part * size() + rank()) * ints);
  return numbers;
}

std::vector<int> expected_file() {
  std::vector<int> all(static_cast<std::size_t>(parts) * ints * size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int part = static_cast<int>(i) / (ints * size());
    const int turn = static_cast<int>(i) % size(), number = static_cast<int>(i) / size() % ints;
    all[i] = 1 + (part * size() + (turn - part % size() + size()) % size()) * ints + number;
  }
  return all;
}

using Begin = int (*)(MPI_File, void*, MPI_Request*);

struct Form {
  const char* name;
  Begin write, read;
};

const Form forms[] = {
    {"collective",
     [](MPI_File file, void* memory, MPI_Request* request) {
       return MPI_File_iwrite_all(file, memory, ints, MPI_INT, request);
     },
     [](MPI_File file, void* memory, MPI_Request* request) {
       return MPI_File_iread_at_all(file, 0, memory, ints, MPI_INT, request);
     }},
    {"independent",
     [](MPI_File file, void* memory, MPI_Request* request) {
       return MPI_File_iwrite_at(file, 0, memory, ints, MPI_INT, request);
     },
     [](MPI_File file, void* memory, MPI_Request* request) {
       return MPI_File_iread(file, memory, ints, MPI_INT, request);
     }},
};

/// Rounds of a collective call in which all ranks have to take part.
Info many_rounds() {
  return {{"cb_buffer_size", "4096"}, {"romio_cb_write", "enable"}, {"romio_cb_read", "enable"}};
}

TEST(ViewChanges, WhileRequestsAreUnderWay) {
  const Info info = many_rounds();
  for (const Form& form : forms) {
    SCOPED_TRACE(form.name);
    File file(std::string("under_way_") + form.name, read_write, info);
    std::vector<std::vector<int>> memory;
    std::vector<MPI_Request> requests(parts, MPI_REQUEST_NULL);
    for (int part = 0; part < parts; ++part) memory.push_back(numbers_of(part));
    for (int part = 0; part < parts; ++part) {
      EXPECT_MPI(set_view_of(file, part));
      EXPECT_MPI(form.write(file, memory[part].data(), &requests[part]));
    }
    EXPECT_MPI(MPI_Waitall(parts, requests.data(), MPI_STATUSES_IGNORE));
    barrier();
    for (int part = 0; part < parts; ++part) {
      EXPECT_MPI(set_view_of(file, part));
      memory[part].assign(ints, -1);
      EXPECT_MPI(form.read(file, memory[part].data(), &requests[part]));
    }
    EXPECT_MPI(MPI_File_set_view(file, 8, MPI_DOUBLE, MPI_DOUBLE, "external32", MPI_INFO_NULL));
    std::vector<MPI_Status> statuses(parts);
    EXPECT_MPI(MPI_Waitall(parts, requests.data(), statuses.data()));
    for (int part = 0; part < parts; ++part) {
      EXPECT_EQ(count_of(statuses[part]), ints);
      EXPECT_EQ(memory[part], numbers_of(part));
    }
    file.close();
    barrier();
    EXPECT_EQ(values<int>(file.path), expected_file());
  }
}

/// Some ranks wait for the request before they set the view, the others afterwards: those that are
/// in set_view progress what the others wait for.
TEST(ViewChanges, OnRanksThatWaitBeforeAndAfter) {
  const Info info = many_rounds();
  File file("before_and_after", read_write, info);
  for (int part = 0; part < parts; ++part) {
    std::vector<int> mine = numbers_of(part);
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_MPI(set_view_of(file, part));
    EXPECT_MPI(MPI_File_iwrite_all(file, mine.data(), ints, MPI_INT, &request));
    if ((rank() + part) % 2 == 0) EXPECT_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    EXPECT_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  file.close();
  barrier();
  EXPECT_EQ(values<int>(file.path), expected_file());
}

/// Elements that are converted, and whose bytes in the file are in another order.
TEST(ViewChanges, OfTheRepresentation) {
  File file("representation");
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
  std::vector<int> mine = numbers_of(0), back(ints, -1);
  MPI_Request request = MPI_REQUEST_NULL;
  const MPI_Offset place = MPI_Offset{rank()} * ints;
  EXPECT_MPI(MPI_File_iwrite_at_all(file, place, mine.data(), ints, MPI_INT, &request));
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  EXPECT_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
  EXPECT_MPI(MPI_File_iread_at(file, place, back.data(), ints, MPI_INT, &request));
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  EXPECT_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT_EQ(back, mine);
  EXPECT_MPI(MPI_File_read_at_all(file, place, back.data(), 1, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT_EQ(back[0], static_cast<int>(__builtin_bswap32(static_cast<unsigned>(mine[0]))));
}

TEST(ViewChanges, BetweenBeginAndEndOfASplitCall) {
  File file("split");
  for (int part = 0; part < parts; ++part) {
    std::vector<int> mine = numbers_of(part);
    EXPECT_MPI(set_view_of(file, part));
    EXPECT_MPI(MPI_File_write_all_begin(file, mine.data(), ints, MPI_INT));
    EXPECT_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    EXPECT_MPI(MPI_File_set_atomicity(file, part % 2));
    EXPECT_MPI(MPI_File_write_all_end(file, mine.data(), MPI_STATUS_IGNORE));
  }
  file.close();
  barrier();
  EXPECT_EQ(values<int>(file.path), expected_file());
}

/// Hints that come with the view are those of calls that begin afterwards, and the shared file
/// pointer is at the beginning.
TEST(ViewChanges, OfTheSharedPointerAndHints) {
  File file("shared views");
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  int mine = 100 + rank();
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_MPI(MPI_File_iwrite_shared(file, &mine, 1, MPI_INT, &request));
  const Info info{{"romio_cb_write", "disable"}};
  EXPECT_MPI(MPI_File_set_view(file, 4 * size(), MPI_INT, MPI_INT, "native", info));
  EXPECT_EQ(hint(file, "romio_cb_write"), "disable");
  MPI_Offset at = -1;
  EXPECT_MPI(MPI_File_get_position_shared(file, &at));
  EXPECT_EQ(at, 0);
  EXPECT_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  file.close();
  barrier();
  const std::vector<int> all = values<int>(file.path);
  EXPECT_EQ(std::ssize(all), size());
  EXPECT_EQ(std::accumulate(all.begin(), all.end(), 0), size() * (100 + 100 + size() - 1) / 2);
}

}  // namespace
