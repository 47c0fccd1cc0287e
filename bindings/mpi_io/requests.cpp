#include "mpi_io/requests.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "mpi/agree.hpp"
#include "mpi/thread_use.hpp"
#include "mpi/wait.hpp"
#include "mpi_io/inside.hpp"
#include "mpi_io/progress_thread.hpp"

namespace penstock {

struct PendingRequest {
  MPI_File handle;
  std::shared_ptr<MpiFile> file;
  PendingAccess transfer;
  MPI_Request request = MPI_REQUEST_NULL;
  std::int64_t bytes = 0;
  std::optional<Error> error;
  bool by_thread = false;         // the progress thread resumes it
  std::atomic<bool> over{false};  // it only has to be completed, which needs an MPI call
  std::atomic<bool> ended{false};
};

namespace {

/// Requests that the program has not completed.
class Pending {
 public:
  using One = std::shared_ptr<PendingRequest>;

  void add(One one) {
    const std::lock_guard guard(mutex_);
    all_.push_back(std::move(one));
    count_ = static_cast<int>(all_.size());
  }
  bool empty() const noexcept { return count_ == 0; }
  std::vector<One> all() {
    const std::lock_guard guard(mutex_);
    return all_;
  }
  One find(MPI_Request request) {
    const std::lock_guard guard(mutex_);
    for (const One& one : all_)
      if (one->request == request) return one;
    return nullptr;
  }
  void remove(const One& one) {
    const auto use = WithoutMpi::here() ? std::unique_lock<std::recursive_mutex>() : use_up();
    const std::lock_guard guard(mutex_);
    std::erase(all_, one);
    count_ = static_cast<int>(all_.size());
  }
  /// While it is held, a thread that must not call MPI never gets the last reference to a request,
  /// or to its file: destroying a file calls MPI.
  std::unique_lock<std::recursive_mutex> use_up() { return std::unique_lock(used_); }
  /// Collective ones that are not over: other ranks may wait for them.
  std::atomic<int>& awaited() noexcept { return awaited_; }
  static Pending& of_process() {
    static Pending pending;
    return pending;
  }

 private:
  std::recursive_mutex used_;
  std::mutex mutex_;
  std::vector<One> all_;
  std::atomic<int> count_{0}, awaited_{0};
};

// Callbacks of the library: status, free and cancel. The library holds the request until it is
// freed.

int query(void* state, MPI_Status* status) {
  set_status(status, (*static_cast<Pending::One*>(state))->bytes);
  return MPI_SUCCESS;
}

int release(void* state) {
  const std::unique_ptr<Pending::One> one(static_cast<Pending::One*>(state));
  Pending::of_process().remove(*one);
  return MPI_SUCCESS;
}

int cancel(void*, int) {
  return MPI_SUCCESS;  // ignored: the operation continues to its end
}

void note_over(PendingRequest& one) {
  if (!one.over.exchange(true) && one.by_thread) --Pending::of_process().awaited();
}

/// With the file's lock held.
void finish(const Pending::One& one) {
  if (one->ended) return;
  one->error = attempt([&] { one->bytes = one->file->end(one->transfer); });
  one->ended = true;
  note_over(*one);
  MPI_Grequest_complete(one->request);
}

/// Returns whether it progressed.
bool resume_one(const Pending::One& one) {
  if (one->ended || (one->over && WithoutMpi::here())) return false;
  const std::unique_lock guard(one->file->mutex(), std::try_to_lock);
  if (!guard || one->ended) return false;
  const std::int64_t before = one->transfer.steps();
  const bool over = one->over || one->file->test(one->transfer);
  if (over) note_over(*one);
  if (over && !WithoutMpi::here()) finish(one);
  return over || one->transfer.steps() != before;
}

/// From the first request on: they progress wherever this process waits.
void resume_meanwhile() {
  static const bool once = [] {
    set_meanwhile([] {
      progress_requests();
      return has_requests();
    });
    return true;
  }();
  static_cast<void>(once);
}

/// All requests that the progress thread may resume.
bool progress_in_thread() {
  if (!WithoutMpi::here()) return progress_requests();
  Pending& pending = Pending::of_process();
  const auto use = pending.use_up();
  bool moved = false;
  for (const Pending::One& one : pending.all())
    if (one->by_thread) moved = resume_one(one) || moved;
  return moved;
}

/// Other ranks may wait for a collective operation. It progresses in a thread if MPI allows that,
/// or within a node, where that needs no MPI.
bool goes_on_in_thread(const PendingRequest& one) {
  return one.transfer.company() == Company::collective &&
         (ProgressThread::may_call_mpi() || one.file->is_within_node());
}

void wake_thread(Pending& pending) {
  static const bool once = [&] {
    ProgressThread::of_process().add({[&] { return pending.awaited() > 0; }, &progress_in_thread});
    return true;
  }();
  static_cast<void>(once);
  ProgressThread::of_process().wake();
}

}  // namespace

MPI_Request make_request(MPI_File handle, std::shared_ptr<MpiFile> file, PendingAccess transfer) {
  auto one = std::make_shared<PendingRequest>(handle, std::move(file), std::move(transfer));
  auto* const state = new Pending::One(one);
  Communicator::check(MPI_Grequest_start(query, release, cancel, state, &one->request),
                      "MPI_Grequest_start");
  const MPI_Request request = one->request;
  Pending& pending = Pending::of_process();
  resume_meanwhile();
  one->by_thread = goes_on_in_thread(*one);
  if (one->by_thread) ++pending.awaited();
  pending.add(one);
  if (one->file->test(one->transfer)) finish(one);
  else if (one->by_thread) wake_thread(pending);
  return request;
}

bool has_requests() noexcept {
  return !Pending::of_process().empty();
}

bool progress_requests() {
  if (!has_requests()) return false;
  const Inside inside;
  bool moved = false;
  for (const Pending::One& one : Pending::of_process().all()) moved = resume_one(one) || moved;
  return moved;
}

void finish_requests(MpiFile& file) {
  for (const Pending::One& one : Pending::of_process().all())
    if (one->file.get() == &file) finish(one);
}

RequestErrors::RequestErrors(int count, const MPI_Request* requests)
    : begin_(std::chrono::steady_clock::now()) {
  if (!has_requests()) return;
  for (int i = 0; i < count; ++i)
    if (const Pending::One one = Pending::of_process().find(requests[i]))
      watched_.push_back({i, one});
}

std::shared_ptr<PendingRequest> RequestErrors::awaited() const {
  for (const Watched& watched : watched_) {
    const PendingRequest& pending = *watched.pending;
    if (!pending.ended && pending.transfer.company() == Company::collective) return watched.pending;
  }
  return nullptr;
}

void WaitForRequests::look() {
  if (shown_ && !shown_->ended) return;
  in_.reset();
  shown_ = requests_.awaited();
  if (!shown_) return;
  const Call wait{CallKind::wait, shown_->transfer.call()};
  in_.emplace(shown_->file->comm(), shown_->file->path(), wait);
}

RequestErrors::~RequestErrors() {
  const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - begin_;
  for (const Watched& watched : watched_)
    watched.pending->file->count_wait(watched.pending->transfer, time / std::ssize(watched_));
}

int RequestErrors::report(int index) const {
  for (const Watched& watched : watched_) {
    if (watched.index != index || !watched.pending->error) continue;
    return watched.pending->file->raise(watched.pending->handle, *watched.pending->error);
  }
  return MPI_SUCCESS;
}

}  // namespace penstock
