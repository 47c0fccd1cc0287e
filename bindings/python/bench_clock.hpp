// Timing over the ranks of a machine: a common clock, and a barrier that does not use the cores.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace penstock::python {

/// Seconds of CLOCK_MONOTONIC, which all processes of a machine share. MPI_Wtime may differ between
/// them.
double now() noexcept;

/// A barrier in which ranks sleep: MPI's own barriers spin, and with more ranks than cores a
/// spinning rank takes the core of one that works.
class SleepingBarrier {
 public:
  explicit SleepingBarrier(MPI_Comm comm);  ///< collective; keeps `comm`
  SleepingBarrier(const SleepingBarrier&) = delete;
  ~SleepingBarrier();
  void wait();

 private:
  struct Shared {
    std::atomic<std::uint32_t> arrived, generation;
  };
  void wait_on_this_machine();
  void wait_across_machines();

  MPI_Comm comm_;
  Shared* shared_ = nullptr;  ///< null: the ranks share no memory
  std::uint32_t ranks_ = 0;
};

/// A time interval on one rank.
struct TimeSpan {
  double begin = 0, end = 0;
};

/// Times `work` after a barrier. Over ranks the interval is from the earliest begin to the latest
/// end.
template <class Work>
TimeSpan span_of(SleepingBarrier& barrier, Work&& work) {
  barrier.wait();
  const double begin = now();
  work();
  return {begin, now()};
}

}  // namespace penstock::python
