// ProgressThread: one thread per process that progresses what other ranks wait for while the
// program computes, or is blocked in an MPI call not for files (the rule of progress, MPI 4.1,
// section 2.9). If MPI runs without MPI_THREAD_MULTIPLE, it makes no MPI calls, and progresses only
// what needs none: operations within a node.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace penstock {

class ProgressThread {
 public:
  struct Job {
    std::function<bool()> is_wanted;
    /// Does not wait. Returns whether anything progressed.
    std::function<bool()> resume;
  };
  using Id = std::list<Job>::iterator;

  static bool may_call_mpi();
  static ProgressThread& of_process();

  Id add(Job job);
  /// On return the job is not running.
  void remove(Id id);
  /// A job has become wanted. Does not block.
  void wake();

 private:
  ProgressThread() = default;
  ~ProgressThread();
  void run(const std::stop_token& stop);
  bool resume_all(bool& moved);
  void sleep(const std::stop_token& stop, bool wanted, bool moved);

  std::mutex jobs_mutex_;  // held while jobs run
  std::list<Job> jobs_;
  std::mutex sleep_mutex_;
  std::condition_variable_any woken_;
  bool wake_ = false;
  std::chrono::nanoseconds pause_{0};
  int process_ = 0;  // the one that started the thread
  std::jthread thread_;
};

}  // namespace penstock
