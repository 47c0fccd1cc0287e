// Worker: one thread that does storage calls while its owner goes on exchanging. It never calls
// MPI. Jobs run one after the other, in the order in which they came.
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
  using Ticket = std::uint64_t;  // 0: no job

  Worker() = default;
  Worker(const Worker&) = delete;
  ~Worker();  // after the last job

  /// `job` must not throw. The thread starts with the first job; it does this one as `placement`
  /// has it.
  Ticket submit(std::function<void()> job, const Placement& placement = {});
  bool is_done(Ticket ticket);
  /// Returns when all jobs are done.
  void wait_for_all();
  /// Returns when the job of `ticket`, and all before it, are done.
  void wait(Ticket ticket);

 private:
  struct Job {
    std::function<void()> work;
    Placement placement;
  };
  void run();

  std::mutex mutex_;
  std::condition_variable has_work_, has_finished_;
  std::deque<Job> jobs_;
  Ticket submitted_ = 0, finished_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace penstock
