#include "mpi_io/remote_number.hpp"

#include <mpi.h>

#include <algorithm>
#include <optional>

#include "mpi_io/mpi_error.hpp"
#include "mpi_io/progress_thread.hpp"

namespace penstock {
namespace {

/// Instead of MPI_Barrier: waiting ranks leave their cores to others.
void meet(MPI_Comm comm) {
  MPI_Request request;
  Communicator::check(MPI_Ibarrier(comm, &request), "MPI_Ibarrier");
  Communicator::wait(request, "MPI_Ibarrier");
}

class WindowNumber : public RemoteNumber {
 public:
  WindowNumber(const Communicator& comm, MPI_Win window) : window_(window) {
    MPI_Win_lock_all(0, window_);
    if (comm.rank() == 0) fetch(0, MPI_REPLACE);
    meet(comm.handle());  // nobody may add to it before
  }
  void release() override {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  std::int64_t add(std::int64_t value) override { return fetch(value, MPI_SUM); }
  std::int64_t set(std::int64_t value) override { return fetch(value, MPI_REPLACE); }

 private:
  std::int64_t fetch(std::int64_t operand, MPI_Op op) {
    std::int64_t before = 0;
    Communicator::check(MPI_Fetch_and_op(&operand, &before, MPI_INT64_T, 0, 0, op, window_),
                        "MPI_Fetch_and_op");
    Communicator::check(MPI_Win_flush(0, window_), "MPI_Win_flush");
    return before;
  }

  MPI_Win window_;
};

/// Rank 0's thread receives orders and replies with the previous value.
class AnsweredNumber : public RemoteNumber {
 public:
  explicit AnsweredNumber(const Communicator& comm) : rank_(comm.rank()) {
    MPI_Request request;
    Communicator::check(MPI_Comm_idup(comm.handle(), &comm_, &request), "MPI_Comm_idup");
    Communicator::wait(request, "MPI_Comm_idup");
    if (rank_ != 0) return;
    job_ = ProgressThread::of_process().add({[] { return true; }, [this] { return answer(); }});
    ProgressThread::of_process().wake();
  }
  void release() override {
    meet(comm_);
    if (job_) ProgressThread::of_process().remove(*job_);
    MPI_Comm_free(&comm_);
  }
  std::int64_t add(std::int64_t value) override { return ask({0, value}); }
  std::int64_t set(std::int64_t value) override { return ask({1, value}); }

 private:
  struct Order {
    std::int64_t sets, value;
  };
  static constexpr int order_tag = 1, answer_tag = 2;

  std::int64_t carry_out(const Order& order) {
    return order.sets ? number_.exchange(order.value) : number_.fetch_add(order.value);
  }

  std::int64_t ask(Order order) {
    if (rank_ == 0) return carry_out(order);
    std::int64_t before = 0;
    MPI_Request sent, received;
    Communicator::check(MPI_Irecv(&before, 1, MPI_INT64_T, 0, answer_tag, comm_, &received),
                        "MPI_Irecv");
    Communicator::check(MPI_Isend(&order, 2, MPI_INT64_T, 0, order_tag, comm_, &sent), "MPI_Isend");
    Communicator::wait(sent, "MPI_Isend");
    Communicator::wait(received, "MPI_Irecv");
    return before;
  }

  /// In the thread. Replies are a few bytes, which MPI sends at once.
  bool answer() {
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, order_tag, comm_, &there, &status);
    if (!there) return false;
    Order order{};
    MPI_Recv(&order, 2, MPI_INT64_T, status.MPI_SOURCE, order_tag, comm_, MPI_STATUS_IGNORE);
    const std::int64_t before = carry_out(order);
    MPI_Send(&before, 1, MPI_INT64_T, status.MPI_SOURCE, answer_tag, comm_);
    return true;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_;
  std::atomic<std::int64_t> number_{0};
  std::optional<ProgressThread::Id> job_;
};

class NoNumber : public RemoteNumber {
 public:
  void release() override {}
  std::int64_t add(std::int64_t) override { refuse(); }
  std::int64_t set(std::int64_t) override { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    throw_mpi(MPI_ERR_UNSUPPORTED_OPERATION,
              "the shared file pointer of ranks on several nodes needs windows of MPI, which this "
              "MPI library does not offer between them, or MPI_THREAD_MULTIPLE");
  }
};

/// Collective. Null on all ranks if windows are not possible.
MPI_Win make_window(const Communicator& comm) {
  const MPI_Aint bytes = comm.rank() == 0 ? sizeof(std::int64_t) : 0;
  std::int64_t* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  const int code = MPI_Win_allocate(bytes, sizeof(std::int64_t), MPI_INFO_NULL, comm.handle(),
                                    static_cast<void*>(&base), &window);
  int failed[2] = {code != MPI_SUCCESS, code == MPI_SUCCESS};  // on some rank
  MPI_Request request;
  Communicator::check(
      MPI_Iallreduce(MPI_IN_PLACE, failed, 2, MPI_INT, MPI_MAX, comm.handle(), &request),
      "MPI_Iallreduce");
  Communicator::wait(request, "MPI_Iallreduce");
  if (failed[0] && failed[1]) throw_mpi(MPI_ERR_WIN, "MPI_Win_allocate worked on some ranks only");
  return failed[0] ? MPI_WIN_NULL : window;
}

}  // namespace

std::unique_ptr<RemoteNumber> make_remote_number(const Communicator& comm) {
  const MPI_Win window = make_window(comm);
  if (window != MPI_WIN_NULL) return std::make_unique<WindowNumber>(comm, window);
  if (ProgressThread::may_call_mpi()) return std::make_unique<AnsweredNumber>(comm);
  return std::make_unique<NoNumber>();
}

}  // namespace penstock
