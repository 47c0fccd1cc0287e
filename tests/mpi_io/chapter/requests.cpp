// Requests of non-blocking calls, together with those of messages (MPI 4.1, section 14.4.5).
#include <algorithm>
#include <numeric>

#include "chapter.hpp"

using namespace chapter;

namespace {

constexpr int pieces = 12;

/// Writes of this rank's pieces, and between them a message to the next rank and one from the
/// previous.
class Mixed {
 public:
  explicit Mixed(MPI_File file) : data_(pieces * ints) {
    std::iota(data_.begin(), data_.end(), rank() * pieces * ints);
    const int next = (rank() + 1) % size(), last = (rank() + size() - 1) % size();
    MPI_Irecv(&received_, 1, MPI_INT, last, 5, MPI_COMM_WORLD, &add());
    for (int i = 0; i < pieces; ++i) {
      const MPI_Offset at = (rank() * pieces + i) * ints * static_cast<MPI_Offset>(sizeof(int));
      EXPECT_MPI(MPI_File_iwrite_at(file, at, data_.data() + i * ints, ints, MPI_INT, &add()));
      if (i == pieces / 2) requests.push_back(MPI_REQUEST_NULL);
    }
    MPI_Isend(&sent_, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &add());
  }
  Mixed(const Mixed&) = delete;
  int count() const { return static_cast<int>(requests.size()); }
  /// Whether it is a write, by its status.
  bool is_write(int index) const {
    return index != 0 && index != count() - 1 && index != pieces / 2 + 2;
  }
  void check(const std::string& path) const {
    EXPECT_EQ(received_, (rank() + size() - 1) % size());
    EXPECT_EQ(std::ranges::count(requests, MPI_REQUEST_NULL), count());
    barrier();
    std::vector<int> expected(static_cast<std::size_t>(size()) * pieces * ints);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(values<int>(path), expected);
  }

  std::vector<MPI_Request> requests;

 private:
  MPI_Request& add() { return requests.emplace_back(MPI_REQUEST_NULL); }

  std::vector<int> data_;
  int sent_ = rank(), received_ = -1;
};

/// `complete(mixed)`: waits for all requests; returns how many writes it saw complete.
template <class Complete>
void check_mixed(const char* name, Complete&& complete) {
  File file(name);
  Mixed mixed(file);
  EXPECT_EQ(complete(mixed), pieces);
  file.close();
  mixed.check(file.path);
}

int count_writes(const Mixed& mixed, int index, const MPI_Status& status) {
  if (!mixed.is_write(index)) return 0;
  EXPECT_EQ(count_of(status), ints);
  return 1;
}

TEST(Requests, GoTogetherIntoWaitall) {
  check_mixed("waitall", [](Mixed& mixed) {
    std::vector<MPI_Status> statuses(mixed.requests.size());
    EXPECT_MPI(MPI_Waitall(mixed.count(), mixed.requests.data(), statuses.data()));
    int writes = 0;
    for (int i = 0; i < mixed.count(); ++i) writes += count_writes(mixed, i, statuses[i]);
    return writes;
  });
}

/// A file request that fails, together with a message that does not: each status has its own code.
TEST(Requests, ThatFailHaveTheirErrorsInStatuses) {
  File file("fail", MPI_MODE_WRONLY | MPI_MODE_CREATE);
  for (const bool some : {false, true}) {
    const int sent = rank();
    int received = -1, buffer[2] = {}, count = 3;
    MPI_Request requests[3];
    EXPECT_MPI(MPI_File_iread_at_all(file, 0, buffer, 2, MPI_INT, &requests[0]));
    MPI_Irecv(&received, 1, MPI_INT, rank(), 6, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&sent, 1, MPI_INT, rank(), 6, MPI_COMM_WORLD, &requests[2]);
    int indices[3] = {0, 1, 2};
    MPI_Status statuses[3];
    for (MPI_Status& status : statuses) status.MPI_ERROR = MPI_ERR_UNKNOWN;
    for (int left = 3; left > 0; left -= count) {
      const int code = some ? MPI_Waitsome(3, requests, &count, indices, statuses)
                            : MPI_Waitall(3, requests, statuses);
      const bool has_file = std::count(indices, indices + count, 0) > 0;
      EXPECT_CLASS(code, has_file ? MPI_ERR_IN_STATUS : MPI_SUCCESS);
      for (int i = 0; has_file && i < count; ++i)
        EXPECT_CLASS(statuses[i].MPI_ERROR, indices[i] == 0 ? MPI_ERR_ACCESS : MPI_SUCCESS);
    }
    EXPECT_EQ(received, sent);
  }
}

#if MPI_VERSION >= 4
/// A message in parts, by persistent requests.
TEST(Requests, GoTogetherWithPartitionedMessages) {
  File file("partitioned");
  const int next = (rank() + 1) % size(), last = (rank() + size() - 1) % size();
  std::vector<int> sent(4), received(4, -1), data(ints, rank());
  MPI_Request requests[3];
  MPI_Psend_init(sent.data(), 2, 2, MPI_INT, next, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(received.data(), 2, 2, MPI_INT, last, 8, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &requests[1]);
  for (int round = 0; round < 20; ++round) {
    std::ranges::fill(sent, rank() * 100 + round);
    EXPECT_MPI(MPI_File_iwrite_all(file, data.data(), ints, MPI_INT, &requests[2]));
    MPI_Startall(2, requests);
    MPI_Pready(0, requests[0]);
    MPI_Pready(1, requests[0]);
    EXPECT_MPI(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    EXPECT_EQ(received, std::vector<int>(4, last * 100 + round));
    EXPECT_EQ(requests[2], MPI_REQUEST_NULL);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}
#endif

TEST(Requests, GoTogetherIntoWaitany) {
  check_mixed("waitany", [](Mixed& mixed) {
    for (int writes = 0;;) {
      int index = -1;
      MPI_Status status;
      EXPECT_MPI(MPI_Waitany(mixed.count(), mixed.requests.data(), &index, &status));
      if (index == MPI_UNDEFINED) return writes;
      writes += count_writes(mixed, index, status);
    }
  });
}

template <class Some>
int complete_some(Mixed& mixed, Some&& some) {
  std::vector<int> indices(mixed.requests.size());
  std::vector<MPI_Status> statuses(mixed.requests.size());
  for (int writes = 0;;) {
    int done = 0;
    EXPECT_MPI(some(mixed.count(), mixed.requests.data(), &done, indices.data(), statuses.data()));
    if (done == MPI_UNDEFINED) return writes;
    for (int i = 0; i < done; ++i) writes += count_writes(mixed, indices[i], statuses[i]);
  }
}

TEST(Requests, GoTogetherIntoWaitsome) {
  check_mixed("waitsome", [](Mixed& mixed) { return complete_some(mixed, &MPI_Waitsome); });
}

TEST(Requests, GoTogetherIntoTestsome) {
  check_mixed("testsome", [](Mixed& mixed) { return complete_some(mixed, &MPI_Testsome); });
}

TEST(Requests, GoTogetherIntoTestany) {
  check_mixed("testany", [](Mixed& mixed) {
    for (int writes = 0;;) {
      int index = -1, flag = 0;
      MPI_Status status;
      EXPECT_MPI(MPI_Testany(mixed.count(), mixed.requests.data(), &index, &flag, &status));
      if (!flag) continue;
      if (index == MPI_UNDEFINED) return writes;
      writes += count_writes(mixed, index, status);
    }
  });
}

TEST(Requests, GoTogetherIntoTestall) {
  check_mixed("testall", [](Mixed& mixed) {
    std::vector<MPI_Status> statuses(mixed.requests.size());
    for (int flag = 0; !flag;)
      EXPECT_MPI(MPI_Testall(mixed.count(), mixed.requests.data(), &flag, statuses.data()));
    int writes = 0;
    for (int i = 0; i < mixed.count(); ++i) writes += count_writes(mixed, i, statuses[i]);
    return writes;
  });
}

TEST(Requests, StatusIsToldBeforeTheEnd) {
  File file("get_status");
  int mine[3] = {1, 2, 3};
  MPI_Request request;
  EXPECT_MPI(MPI_File_iwrite_at(file, rank() * 12, mine, 3, MPI_INT, &request));
  MPI_Status status;
  for (int flag = 0; !flag;) EXPECT_MPI(MPI_Request_get_status(request, &flag, &status));
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  int index = -1, done = 0;
  for (int flag = 0; !flag;) EXPECT_MPI(MPI_Request_get_status_all(1, &request, &flag, &status));
  for (int flag = 0; !flag;)
    EXPECT_MPI(MPI_Request_get_status_any(1, &request, &index, &flag, &status));
  while (done == 0) EXPECT_MPI(MPI_Request_get_status_some(1, &request, &done, &index, &status));
  EXPECT_EQ(index, 0);
#endif
  EXPECT_NE(request, MPI_REQUEST_NULL);
  EXPECT_EQ(count_of(status), 3);
  for (int flag = 0; !flag;) EXPECT_MPI(MPI_Test(&request, &flag, &status));
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_EQ(count_of(status), 3);
}

/// Two collective writes to each of two files; odd ranks wait for the last one first.
TEST(Requests, CollectiveOnesEndInAnyOrder) {
  File files[] = {File("first"), File("second")};
  std::vector<std::vector<int>> data;
  std::vector<MPI_Request> requests(4);
  for (int i = 0; i < 4; ++i) {
    data.emplace_back(ints, 1 + i * 100 + rank());
    const MPI_Offset at = (i / 2 * size() + rank()) * ints * static_cast<MPI_Offset>(sizeof(int));
    EXPECT_MPI(
        MPI_File_iwrite_at_all(files[i % 2], at, data[i].data(), ints, MPI_INT, &requests[i]));
  }
  if (rank() % 2 == 1) std::ranges::reverse(requests);
  for (MPI_Request& request : requests) {
    MPI_Status status;
    EXPECT_MPI(MPI_Wait(&request, &status));
    EXPECT_EQ(count_of(status), ints);
  }
  std::vector<int> back(ints);
  MPI_Request read;
  const MPI_Offset at = rank() * ints * static_cast<MPI_Offset>(sizeof(int));
  EXPECT_MPI(MPI_File_iread_at_all(files[1], at, back.data(), ints, MPI_INT, &read));
  EXPECT_MPI(MPI_Wait(&read, MPI_STATUS_IGNORE));
  EXPECT_EQ(back, data[1]);
  for (File& file : files) file.close();
  barrier();
  for (int i = 0; i < 2; ++i) {
    const std::vector<int> all = values<int>(files[i].path);
    ASSERT_EQ(std::ssize(all), 2 * size() * ints);
    for (int b = 0; b < 2 * size(); ++b) {
      const int expected = 1 + (b / size() * 2 + i) * 100 + b % size();
      EXPECT_EQ(all[b * ints], expected);
      EXPECT_EQ(all[(b + 1) * ints - 1], expected);
    }
  }
}

/// A blocking collective call between the begin and the end of a non-blocking one.
TEST(Requests, CollectiveOneIsUnderWayDuringOthers) {
  File file("during");
  std::vector<int> mine(ints, rank());
  MPI_Request request;
  const MPI_Offset at = rank() * ints * static_cast<MPI_Offset>(sizeof(int));
  EXPECT_MPI(MPI_File_iwrite_at_all(file, at, mine.data(), ints, MPI_INT, &request));
  const std::int64_t ranks = sum(1);
  EXPECT_EQ(ranks, size());
  std::vector<int> more(ints, 1000 + rank());
  const MPI_Offset behind = size() * ints * static_cast<MPI_Offset>(sizeof(int));
  EXPECT_MPI(
      MPI_File_write_at_all(file, behind + at, more.data(), ints, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  file.close();
  barrier();
  const std::vector<int> all = values<int>(file.path);
  ASSERT_EQ(std::ssize(all), 2 * size() * ints);
  EXPECT_EQ(all[rank() * ints], rank());
  EXPECT_EQ(all[(size() + rank()) * ints + ints - 1], 1000 + rank());
}

/// A message that is too long for its receive, together with a collective write.
TEST(Requests, GoOnWhenAMessageFails) {
  File file("beside_failure");
  std::vector<int> mine(ints, rank());
  int sent[2] = {1, 2}, received = 0;
  MPI_Errhandler before;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Request requests[3];
  MPI_Irecv(&received, 1, MPI_INT, rank(), 9, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(sent, 2, MPI_INT, rank(), 9, MPI_COMM_WORLD, &requests[1]);
  const MPI_Offset at = rank() * ints * static_cast<MPI_Offset>(sizeof(int));
  EXPECT_MPI(MPI_File_iwrite_at_all(file, at, mine.data(), ints, MPI_INT, &requests[2]));
  MPI_Status statuses[3];
  const int code = MPI_Waitall(3, requests, statuses);  // Open MPI 4.1 truncates silently
  if (code != MPI_SUCCESS) EXPECT_CLASS(code, MPI_ERR_IN_STATUS);
  if (requests[2] != MPI_REQUEST_NULL) EXPECT_MPI(MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
  MPI_Errhandler_free(&before);
  file.close();
  barrier();
  EXPECT_EQ(values<int>(file.path)[rank() * ints], rank());
}

/// Hundreds at a time, not waited for one by one.
TEST(Requests, ThereMayBeMany) {
  File file("many");
  constexpr int many = 400;
  std::vector<int> numbers(many);
  std::iota(numbers.begin(), numbers.end(), rank() * many);
  std::vector<MPI_Request> requests(many);
  for (int i = 0; i < many; ++i)
    EXPECT_MPI(
        MPI_File_iwrite_at(file, (rank() * many + i) * 4, &numbers[i], 1, MPI_INT, &requests[i]));
  EXPECT_MPI(MPI_Waitall(many, requests.data(), MPI_STATUSES_IGNORE));
  std::vector<int> back(many, -1);
  for (int i = 0; i < many; ++i)
    EXPECT_MPI(
        MPI_File_iread_at(file, (rank() * many + i) * 4, &back[i], 1, MPI_INT, &requests[i]));
  EXPECT_MPI(MPI_Waitall(many, requests.data(), MPI_STATUSES_IGNORE));
  EXPECT_EQ(back, numbers);
  file.close();
}

}  // namespace
