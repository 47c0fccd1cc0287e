// Worker: one thread that does storage calls while its owner goes on exchanging. It never calls
// MPI. Jobs begin one after the other, in the order in which they came, and end in that order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "background/placement.hpp"

namespace penstock {

class Worker {
 public:
  using Ticket = std::uint64_t;  // a job's position in the queue; 0: no job

  Worker() = default;
  Worker(const Worker&) = delete;
  ~Worker();  // after the last job

  /// `job` and `finish` must not throw. The thread starts with the first job; it does this one as
  /// `placement` has it. `finish`, if there is one, waits for what the job has begun at the
  /// storage; jobs with one are under way beside each other, any other has the storage to itself.
  Ticket submit(std::function<void()> job, const Placement& placement = {},
                std::function<void()> finish = nullptr);
  bool is_done(Ticket ticket);
  /// Returns when all jobs are done.
  void wait_for_all();
  /// Returns when the job of `ticket`, and all before it, are done.
  void wait(Ticket ticket);

 private:
  struct Job {
    std::function<void()> work, finish;
    Placement placement;
  };
  void run();
  void begin_next(std::unique_lock<std::mutex>& guard);
  void end_oldest(std::unique_lock<std::mutex>& guard);

  std::mutex mutex_;
  std::condition_variable has_work_, has_finished_;
  std::deque<Job> jobs_;
  std::deque<std::function<void()>> under_way_;  // what ends them
  Ticket submitted_ = 0, finished_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace penstock
