#include "mpi_io/progress_thread.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "background/blocked_signals.hpp"
#include "mpi/communicator.hpp"
#include "mpi/thread_use.hpp"
#include "mpi_io/inside.hpp"

namespace penstock {
namespace {

using namespace std::chrono_literals;

/// Between two polls of jobs that do not progress; about the time of a round's messages.
constexpr std::chrono::nanoseconds shortest_pause = 20us, longest_pause = 1ms;

}  // namespace

bool ProgressThread::may_call_mpi() {
  static const bool may = [] {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    return level == MPI_THREAD_MULTIPLE;
  }();
  return may;
}

ProgressThread& ProgressThread::of_process() {
  static ProgressThread thread;
  return thread;
}

ProgressThread::~ProgressThread() {
  if (!thread_.joinable()) return;
  if (process_ != ::getpid()) {
    thread_.detach();  // a forked child has no such thread
  } else {
    thread_.request_stop();
    thread_.join();
  }
}

ProgressThread::Id ProgressThread::add(Job job) {
  const std::lock_guard guard(jobs_mutex_);
  if (!thread_.joinable()) {
    const BlockedSignals blocked;
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    process_ = ::getpid();
  }
  return jobs_.insert(jobs_.end(), std::move(job));
}

void ProgressThread::remove(Id id) {
  const std::lock_guard guard(jobs_mutex_);
  jobs_.erase(id);
}

void ProgressThread::wake() {
  {
    const std::lock_guard guard(sleep_mutex_);
    wake_ = true;
  }
  woken_.notify_one();
}

/// Returns whether any job is wanted.
bool ProgressThread::resume_all(bool& moved) {
  const std::lock_guard guard(jobs_mutex_);
  bool wanted = false;
  for (const Job& job : jobs_) {
    if (!Communicator::mpi_is_running() || !job.is_wanted()) continue;
    wanted = true;
    moved = job.resume() || moved;
  }
  return wanted;
}

void ProgressThread::sleep(const std::stop_token& stop, bool wanted, bool moved) {
  pause_ = moved ? 0ns : std::clamp(2 * pause_, shortest_pause, longest_pause);
  if (moved) return std::this_thread::yield();
  std::unique_lock lock(sleep_mutex_);
  const auto woken = [this] { return wake_; };
  if (wanted) woken_.wait_for(lock, stop, pause_, woken);
  else woken_.wait(lock, stop, woken);
  if (std::exchange(wake_, false)) pause_ = 0ns;
}

void ProgressThread::run(const std::stop_token& stop) {
  const Inside inside;
  std::optional<WithoutMpi> without;
  if (!may_call_mpi()) without.emplace();
  while (!stop.stop_requested()) {
    bool moved = false;
    const bool wanted = resume_all(moved);
    sleep(stop, wanted, moved);
  }
}

}  // namespace penstock
