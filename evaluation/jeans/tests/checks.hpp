// Common parts of the tests: a count of failures on which ranks agree.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "../gas.hpp"

namespace jeans::tests {

inline int failures = 0;

inline void check(bool good, const std::string& what) {
  if (good) return;
  ++failures;
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
}

inline void check_between(double value, double least, double most, const std::string& what) {
  check(value >= least && value <= most, what + " is " + std::to_string(value) + ", not within " +
                                             std::to_string(least) + " and " +
                                             std::to_string(most));
}

/// Collective: all cells of a field on each rank, in Fortran order.
inline std::vector<double> whole(const Grid& grid, const Field& field) {
  std::vector<double> mine(static_cast<std::size_t>(product(field.size())));
  field.pack(mine.data());
  const Index3 all = grid.cells();
  std::vector<double> sum(static_cast<std::size_t>(product(all)));
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    const Index3 from = grid.lower_of(rank), n = grid.size_of(rank);
    std::vector<double> block(static_cast<std::size_t>(product(n)));
    if (rank == grid.rank()) block = mine;
    MPI_Bcast(block.data(), static_cast<int>(block.size()), MPI_DOUBLE, rank, grid.comm());
    const double* in = block.data();
    for_rows(n, [&](std::int64_t j, std::int64_t k) {
      for (std::int64_t i = 0; i < n[0]; ++i)
        sum[static_cast<std::size_t>(from[0] + i +
                                     all[0] * (from[1] + j + all[1] * (from[2] + k)))] = *in++;
    });
  }
  return sum;
}

/// main() of a test: 0 on every rank, or 1 on every rank.
inline int run(int argc, char** argv, void (*test)()) {
  MPI_Init(&argc, &argv);
  try {
    test();
  } catch (const std::exception& error) {
    check(false, error.what());
  }
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace jeans::tests
