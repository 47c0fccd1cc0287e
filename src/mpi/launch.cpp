#include "mpi/launch.hpp"

#include <mpi.h>

#include <array>
#include <cstdlib>

namespace penstock {
namespace {

/// Ranks of MPI_COMM_WORLD; 0: MPI does not run.
int world_size() {
  int running = 0, ended = 0, size = 0;
  MPI_Initialized(&running);
  if (running) MPI_Finalized(&ended);
  if (running && !ended) MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// "PMI_SIZE=4" where a launcher has started several processes.
std::optional<std::string> launched() {
  constexpr std::array variables{"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"};
  for (const char* const name : variables) {
    const char* const value = std::getenv(name);
    if (value != nullptr && std::strtol(value, nullptr, 10) > 1)
      return std::string(name) + "=" + value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_other_ranks(const Communicator& comm) {
  const int world = world_size();
  const std::optional<std::string> launch = launched();
  if (comm.is_null()) {
    if (world > 1)
      return "without a communicator by one of the " + std::to_string(world) + " ranks of MPI";
    if (launch) return "without a communicator by one of several processes (" + *launch + ")";
    return std::nullopt;
  }
  if (world == 1 && launch && !comm.is_self())
    return "by a world of one rank, one of several (" + *launch +
           "): they were started by the mpiexec of another MPI than the program's";
  return std::nullopt;
}

}  // namespace penstock
