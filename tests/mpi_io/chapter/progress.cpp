// Non-blocking collective calls progress while a rank is blocked in something else (MPI 4.1,
// section 2.9): ranks wait for each other in different order. Each test hangs if a call does not
// progress.
#include <chrono>
#include <numeric>
#include <thread>

#include "chapter.hpp"

using namespace chapter;

namespace {

/// A collective write of every rank's every size()-th int, in flight: its aggregator needs all
/// ranks.
class Write {
 public:
  explicit Write(const char* name) : file_(name), data_(ints) {
    for (int i = 0; i < ints; ++i) data_[i] = i * size() + rank();
    const Type type(cyclic_ints(rank(), size()));
    EXPECT_MPI(MPI_File_set_view(file_, 0, MPI_INT, type, "native", MPI_INFO_NULL));
    EXPECT_MPI(MPI_File_iwrite_at_all(file_, 0, data_.data(), ints, MPI_INT, &request_));
  }
  Write(const Write&) = delete;
  void wait() { EXPECT_MPI(MPI_Wait(&request_, MPI_STATUS_IGNORE)); }
  ~Write() {
    file_.close();
    barrier();
    std::vector<int> expected(static_cast<std::size_t>(ints * size()));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_TRUE(values<int>(file_.path) == expected);
  }

 private:
  File file_;
  std::vector<int> data_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

int next() {
  return (rank() + 1) % size();
}
int last() {
  return (rank() + size() - 1) % size();
}

/// Rank 0 waits for a message first and for the write then; all others wait for the write, and then
/// send. `receive(source)` blocks.
template <class Receive>
void check_receive(const char* name, Receive&& receive) {
  Write write(name);
  int mine = rank();
  if (rank() == 0)
    for (int source = 1; source < size(); ++source) EXPECT_EQ(receive(source), source);
  write.wait();
  if (rank() != 0) EXPECT_MPI(MPI_Send(&mine, 1, MPI_INT, 0, 3, MPI_COMM_WORLD));
}

TEST(Progress, DuringReceive) {
  check_receive("receive", [](int source) {
    int value = -1;
    MPI_Status status;
    EXPECT_MPI(MPI_Recv(&value, 1, MPI_INT, source, 3, MPI_COMM_WORLD, &status));
    EXPECT_EQ(count_of(status), 1);
    return value;
  });
}

TEST(Progress, DuringProbe) {
  check_receive("probe", [](int source) {
    int value = -1;
    MPI_Status status;
    EXPECT_MPI(MPI_Probe(source, 3, MPI_COMM_WORLD, &status));
    EXPECT_EQ(status.MPI_SOURCE, source);
    EXPECT_MPI(MPI_Recv(&value, 1, MPI_INT, source, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return value;
  });
}

TEST(Progress, DuringMatchedProbe) {
  check_receive("mprobe", [](int source) {
    int value = -1;
    MPI_Message message;
    EXPECT_MPI(MPI_Mprobe(source, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    EXPECT_MPI(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    return value;
  });
}

/// Rank 0 sends while the others wait for the write: a large message, or a synchronous one.
TEST(Progress, DuringSend) {
  Write write("send");
  std::vector<int> much(300000, rank());
  int little = rank();
  if (rank() == 0)
    for (int to = 1; to < size(); ++to) {
      EXPECT_MPI(MPI_Send(much.data(), 300000, MPI_INT, to, 4, MPI_COMM_WORLD));
      EXPECT_MPI(MPI_Ssend(&little, 1, MPI_INT, to, 5, MPI_COMM_WORLD));
    }
  write.wait();
  if (rank() == 0) return;
  EXPECT_MPI(MPI_Recv(much.data(), 300000, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EXPECT_MPI(MPI_Recv(&little, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EXPECT_EQ(much.back() + little, 0);
}

/// Even ranks exchange first, odd ones wait for the write first.
template <class Exchange>
void check_exchange(const char* name, Exchange&& exchange) {
  Write write(name);
  if (rank() % 2 == 1) write.wait();
  exchange();
  if (rank() % 2 == 0) write.wait();
}

TEST(Progress, DuringSendAndReceive) {
  check_exchange("sendrecv", [] {
    int mine = rank(), got = -1;
    MPI_Status status;
    EXPECT_MPI(MPI_Sendrecv(&mine, 1, MPI_INT, next(), 6, &got, 1, MPI_INT, last(), 6,
                            MPI_COMM_WORLD, &status));
    EXPECT_EQ(got, last());
    EXPECT_EQ(status.MPI_SOURCE, last());
  });
}

TEST(Progress, DuringSendAndReceiveInPlace) {
  check_exchange("replace", [] {
    const Type every_other(cyclic_ints(0, 2));
    std::vector<int> values = {rank(), -7, rank() + 100, -8};
    EXPECT_MPI(MPI_Sendrecv_replace(values.data(), 2, every_other, next(), 6, last(), 6,
                                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EXPECT_EQ(values, (std::vector<int>{last(), -7, last() + 100, -8}));
  });
}

/// Message and file requests, waited for one after the other.
TEST(Progress, DuringWaitForMessages) {
  check_exchange("messages", [] {
    int mine = rank(), got = -1;
    MPI_Request requests[2];
    EXPECT_MPI(MPI_Irecv(&got, 1, MPI_INT, last(), 6, MPI_COMM_WORLD, &requests[0]));
    EXPECT_MPI(MPI_Isend(&mine, 1, MPI_INT, next(), 6, MPI_COMM_WORLD, &requests[1]));
    EXPECT_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    EXPECT_EQ(got, last());
  });
}

/// Blocking collective calls on another file, and closing it.
TEST(Progress, DuringCallsOnOtherFiles) {
  Write write("in_progress");
  File other("other");
  if (rank() % 2 == 1) write.wait();
  const int mine = rank();
  EXPECT_MPI(MPI_File_write_at_all(other, rank() * 4, &mine, 1, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT_MPI(MPI_File_sync(other));
  other.close();
  if (rank() % 2 == 0) write.wait();
}

// A thread of each rank progresses operations in flight; within a node at any thread level of MPI.

TEST(Progress, DuringCollectiveCallsOfMpi) {
  for (int i = 0; i < 20; ++i)
    check_exchange("barrier", [] { EXPECT_MPI(MPI_Barrier(MPI_COMM_WORLD)); });
  check_exchange("sum", [] { EXPECT_EQ(sum(1), size()); });
}

/// A request so irregular that ranks need messages to describe it: if a thread must not send any,
/// the program's own thread progresses it.
TEST(Progress, OfIrregularRequests) {
  constexpr int blocks = 2000;
  std::vector<int> places(blocks), data(blocks), back(blocks);
  for (int i = 0, at = rank(); i < blocks; at += size() * (1 + i * i % 7), ++i) {
    places[static_cast<std::size_t>(i)] = at;
    data[static_cast<std::size_t>(i)] = at;
  }
  MPI_Datatype irregular = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(blocks, 1, places.data(), MPI_INT, &irregular);
  const Type type(irregular);
  File file("irregular");
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, type, "native", MPI_INFO_NULL));
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_MPI(MPI_File_iwrite_at_all(file, 0, data.data(), blocks, MPI_INT, &request));
  if (rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT_MPI(MPI_File_read_at_all(file, 0, back.data(), blocks, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT_EQ(back, data);
}

TEST(Progress, DuringComputation) {
  Write write("computation");
  if (rank() == 0) std::this_thread::sleep_for(std::chrono::seconds(2));
  const auto begin = std::chrono::steady_clock::now();
  write.wait();
  const auto waited = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(std::chrono::duration<double>(waited).count(), 1.0);
}

}  // namespace
