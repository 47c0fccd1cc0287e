// ProgressThread: one thread of the process that goes on with what other ranks wait for while the
// program computes, or is blocked in a call of MPI that is not for files (the rule of progress,
// MPI 4.1, section 2.9). Where MPI runs without MPI_THREAD_MULTIPLE it calls no MPI, and goes on
// with what needs none: operations within a node.
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
    /// Does not wait. Whether anything moved.
    std::function<bool()> go_on;
  };
  using Id = std::list<Job>::iterator;

  static bool may_call_mpi();
  static ProgressThread& of_process();

  Id add(Job job);
  /// Nothing of it runs when this returns.
  void remove(Id id);
  /// A job has become one that is wanted. Waits for nothing.
  void wake();

 private:
  ProgressThread() = default;
  ~ProgressThread();
  void run(const std::stop_token& stop);
  bool go_on(bool& moved);
  void sleep(const std::stop_token& stop, bool wanted, bool moved);

  std::mutex jobs_mutex_;  // held while jobs run
  std::list<Job> jobs_;
  std::mutex sleep_mutex_;
  std::condition_variable_any woken_;
  bool wake_ = false;
  std::chrono::nanoseconds pause_{0};
  int process_ = 0;  // that started the thread
  std::jthread thread_;
};

}  // namespace penstock
