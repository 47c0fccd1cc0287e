#include "background/worker.hpp"

#include <csignal>
#include <utility>

namespace penstock {

Worker::~Worker() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  has_work_.notify_one();
  thread_.join();
}

Worker::Ticket Worker::submit(std::function<void()> job, const Placement& placement,
                              std::function<void()> finish) {
  const std::lock_guard guard(mutex_);
  if (!thread_.joinable()) {
    // Signals are the program's business: its own threads take them, not this one.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  jobs_.push_back({std::move(job), std::move(finish), placement});
  has_work_.notify_one();
  return ++submitted_;
}

void Worker::wait(Ticket ticket) {
  std::unique_lock guard(mutex_);
  has_finished_.wait(guard, [&] { return finished_ >= ticket; });
}

bool Worker::is_done(Ticket ticket) {
  const std::lock_guard guard(mutex_);
  return finished_ >= ticket;
}

void Worker::wait_for_all() {
  std::unique_lock guard(mutex_);
  has_finished_.wait(guard, [&] { return finished_ == submitted_; });
}

void Worker::run() {
  std::unique_lock guard(mutex_);
  for (;;) {
    const bool joins = !jobs_.empty() && (under_way_.empty() || jobs_.front().finish);
    if (joins) begin_next(guard);
    else if (!under_way_.empty()) end_oldest(guard);
    else if (stop_) return;
    else has_work_.wait(guard, [&] { return stop_ || !jobs_.empty(); });
  }
}

void Worker::begin_next(std::unique_lock<std::mutex>& guard) {
  Job job = std::move(jobs_.front());
  jobs_.pop_front();
  guard.unlock();
  place_thread(job.placement);
  job.work();
  guard.lock();
  if (job.finish) {
    under_way_.push_back(std::move(job.finish));
    return;
  }
  ++finished_;
  has_finished_.notify_all();
}

void Worker::end_oldest(std::unique_lock<std::mutex>& guard) {
  const std::function<void()> finish = std::move(under_way_.front());
  under_way_.pop_front();
  guard.unlock();
  finish();
  guard.lock();
  ++finished_;
  has_finished_.notify_all();
}

}  // namespace penstock
