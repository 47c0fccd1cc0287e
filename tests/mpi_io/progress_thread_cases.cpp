// The thread that progresses requests.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "mpi_io/progress_thread.hpp"

namespace penstock {
namespace {

TEST(ProgressThreadCase, LeavesSignalsToTheProgram) {
  if (!ProgressThread::may_call_mpi()) GTEST_SKIP() << "needs MPI_THREAD_MULTIPLE";
  std::atomic<int> blocked = -1;  // whether SIGTERM is blocked in the thread
  ProgressThread& thread = ProgressThread::of_process();
  const auto id = thread.add({[&] { return blocked < 0; },
                              [&] {
                                sigset_t mask;
                                pthread_sigmask(SIG_SETMASK, nullptr, &mask);
                                blocked = sigismember(&mask, SIGTERM);
                                return true;
                              }});
  thread.wake();
  for (int i = 0; i < 500 && blocked < 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  thread.remove(id);
  EXPECT_EQ(blocked, 1);
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  EXPECT_EQ(sigismember(&mine, SIGTERM), 0);
}

}  // namespace
}  // namespace penstock
