// A main() for GoogleTest under MPI: every rank runs every test; rank 0 reports, the others only
// when they fail; the run fails if any rank failed.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace mpi_test {

inline int rank() {
  int value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &value);
  return value;
}
inline int size() {
  int value = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &value);
  return value;
}
/// Without spinning: tests run with more ranks than cores.
inline void barrier(MPI_Comm comm = MPI_COMM_WORLD) {
  MPI_Request request;
  MPI_Ibarrier(comm, &request);
  for (int done = 0; !done; sched_yield()) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

/// A folder shared by all ranks, removed at the end.
inline std::string& folder() {
  static std::string path;
  return path;
}

inline int main(int argc, char** argv, int threads = MPI_THREAD_SINGLE) {
  int allowed = 0;
  MPI_Init_thread(&argc, &argv, threads, &allowed);
  if (allowed < threads) MPI_Abort(MPI_COMM_WORLD, 1);
  testing::InitGoogleTest(&argc, argv);
  char name[] = "/tmp/penstock-test-XXXXXX";
  if (rank() == 0 && mkdtemp(name) == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  folder() = name;
  if (rank() != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    struct OnlyFailures : testing::EmptyTestEventListener {
      void OnTestPartResult(const testing::TestPartResult& result) override {
        if (result.failed())
          std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank(),
                       result.file_name() ? result.file_name() : "?", result.line_number(),
                       result.summary());
      }
    };
    listeners.Append(new OnlyFailures);
  }
  int failed = RUN_ALL_TESTS(), any = 0;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank() == 0) std::filesystem::remove_all(name);
  MPI_Finalize();
  return any;
}

}  // namespace mpi_test
