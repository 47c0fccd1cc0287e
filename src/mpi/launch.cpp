#include "mpi/launch.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>

#include <penstock/error.hpp>

#include "mpi/group.hpp"

namespace penstock {
namespace {

/// Ranks of MPI_COMM_WORLD; 0: MPI is not running.
int world_size() {
  int size = 0;
  if (Communicator::mpi_is_running()) MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// "MPICH Version: 5.0.2".
std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string line(text, static_cast<std::size_t>(length));
  line.resize(std::min(line.find('\n'), line.size()));
  for (char& character : line)
    if (character == '\t') character = ' ';
  return line.substr(0, line.find(", package"));
}

// Set by MPI launchers: the number of ranks. PMIx and cluster launchers may set only the rank.
constexpr const char* sizes_of_mpi[] = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE"};
constexpr const char* sizes_of_clusters[] = {"SLURM_STEP_NUM_TASKS", "FLUX_JOB_SIZE",
                                             "JSM_NAMESPACE_SIZE"};
constexpr const char* ranks_of_all[] = {"PMI_RANK",     "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "SLURM_PROCID", "FLUX_TASK_RANK",       "PALS_RANKID"};

using Names = std::span<const char* const>;

/// "PMI_SIZE=4": the first of the variables that is a number of at least `least`.
std::optional<std::string> find_variable(Names names, long least) {
  for (const char* const name : names) {
    const char* const value = std::getenv(name);
    if (value != nullptr && std::strtol(value, nullptr, 10) >= least)
      return std::string(name) + "=" + value;
  }
  return std::nullopt;
}

/// Whether a launcher has started several processes. An MPI launcher takes precedence over the
/// cluster's, which may have started its daemons. SLURM_NTASKS is ignored: a batch script has it,
/// too, where a program may well be alone.
std::optional<std::string> launched() {
  if (const auto size = find_variable(sizes_of_mpi, 2)) return size;
  if (find_variable(sizes_of_mpi, 1)) return std::nullopt;
  if (const auto size = find_variable(sizes_of_clusters, 2)) return size;
  return find_variable(ranks_of_all, 1);
}

constexpr const char* pass_one =
    "Pass the communicator of all that write it (comm=MPI.COMM_WORLD), or MPI_COMM_SELF "
    "(comm=MPI.COMM_SELF) if this process alone is meant to";

/// One of several processes that would write a file alone.
struct LonelyWriter {
  std::string who;         // e.g. "without a communicator by one of the 4 ranks of MPI"
  std::string what_to_do;  // a sentence
  bool of_world;           // MPI itself reports several
};

/// Whether `comm`, which has one rank, is probably only a part of the program; nothing if not, or
/// if the program used MPI_COMM_SELF on purpose.
std::optional<LonelyWriter> find_other_ranks(const Communicator& comm) {
  if (Communicator::is_forked_from_mpi()) return std::nullopt;  // not a rank
  const int world = world_size();
  if (world > 1) {
    if (!comm.is_null()) return std::nullopt;
    return LonelyWriter{
        "without a communicator by one of the " + std::to_string(world) + " ranks of MPI", pass_one,
        true};
  }
  const std::optional<std::string> launch = launched();
  if (!launch || comm.is_self()) return std::nullopt;
  if (world == 0)
    return LonelyWriter{"without a communicator by one of several processes (" + *launch + ")",
                        std::string(pass_one) + "; a program that a rank has started by itself " +
                            "runs without that variable (env -u " +
                            launch->substr(0, launch->find('=')) + ")",
                        false};
  return LonelyWriter{
      "by one of several processes (" + *launch +
          "), each of which is the only rank of its MPI_COMM_WORLD: they were started by the "
          "mpiexec of another MPI than the program's",
      "Start them with the mpiexec of " + library_version() +
          ", or pass MPI_COMM_SELF (comm=MPI.COMM_SELF) if this process alone is meant to write it",
      false};
}

}  // namespace

void refuse_lone_writer(const Communicator& comm, const std::string& path) {
  if (!comm.alone()) return;
  const std::optional<LonelyWriter> lonely = find_other_ranks(comm);
  if (!lonely) return;
  if (lonely->of_world) Group::show_refusal();
  throw Error(ErrorClass::argument, "'" + path + "' is opened for writing " + lonely->who +
                                        "; each would write all of it, over the others. " +
                                        lonely->what_to_do);
}

}  // namespace penstock
