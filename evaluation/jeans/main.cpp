// Growth of Jeans' instability in a cloud of self-gravitating gas, on a (block, block, block)
// distribution.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>

#include "hydro.hpp"
#include "options.hpp"
#include "reduce.hpp"

namespace jeans {
namespace {

/// Checked before the run, not after an hour of it. Collective.
void check_room(const Options& options) {
  const std::int64_t dumps = options.dump_every > 0 ? options.iterations / options.dump_every : 0;
  const std::int64_t wanted = bytes_of_dumps(options.cells, dumps, options.dumps.checkpoint);
  const std::string folder = options.dumps.folder.string();
  std::error_code failed;
  const auto space = std::filesystem::space(options.dumps.folder, failed);
  if (greatest(MPI_COMM_WORLD, failed ? 1 : 0) > 0)
    throw penstock::Error(
        penstock::ErrorClass::argument,
        "--folder '" + folder + "' is not there, or cannot be looked at; make it before the run");
  // Ranks of several machines may see different devices: the minimum counts.
  const double room = -greatest(MPI_COMM_WORLD, -static_cast<double>(space.available));
  if (wanted > 0 && room < static_cast<double>(wanted))
    throw penstock::Error(penstock::ErrorClass::argument,
                          "the dumps need " + std::to_string(wanted >> 20) + " MiB, and folder '" +
                              folder + "' has " +
                              std::to_string(static_cast<std::int64_t>(room) >> 20) +
                              " MiB; take another --folder, fewer cells, or fewer dumps");
}

void begin(const Options& options, Gas& gas, Trace& trace) {
  if (!options.restart.empty()) {
    penstock::Hints hints = options.dumps.hints;
    read_restart(options.restart, hints, gas, trace);
    return;
  }
  gas.physics.four_pi_g = four_pi_g_of(options.lengths, gas.grid.length());
  if (options.wave > 0) Wave{options.amplitude, static_cast<int>(options.wave)}.set(gas);
  else Cloud{.amplitude = options.amplitude}.set(gas);
}

/// Prints the result of an iteration. Collective.
void tell(const Gas& gas, const Solver& solver) {
  const double cells = static_cast<double>(product(gas.grid.cells()));
  const double mass = exact_sum(gas.grid, gas[density]) / cells;
  double densest = 0;
  for_rows(gas.grid.size(), [&](std::int64_t j, std::int64_t k) {
    const double* row = gas[density].at(0, j, k);
    densest = std::max(densest, *std::max_element(row, row + gas.grid.size()[0]));
  });
  densest = greatest(gas.grid.comm(), densest);
  if (gas.grid.rank() == 0) {
    std::printf(
        "iteration %lld, time %.6g, step %.3g, mass %.15g, greatest density %.6g, V-cycles %d\n",
        static_cast<long long>(gas.iteration), gas.time, gas.step, mass, densest, solver.cycles());
    std::fflush(stdout);
  }
}

std::string record_of(const Options& options, const Gas& gas, const Trace& trace,
                      const std::array<double, 3>& seconds) {
  std::ostringstream out;
  const Index3 &cells = gas.grid.cells(), &places = gas.grid.places();
  const auto list = [](const Index3& n) {
    return "[" + std::to_string(n[0]) + ", " + std::to_string(n[1]) + ", " + std::to_string(n[2]) +
           "]";
  };
  out << std::setprecision(9) << "{\"ranks\": " << gas.grid.ranks()
      << ", \"cells\": " << list(cells) << ", \"places\": " << list(places)
      << ", \"iterations\": " << options.iterations << ", \"seconds\": " << seconds[0]
      << ", \"computation\": " << seconds[1] << ", \"time\": " << gas.time << ", \"background\": \""
      << penstock::to_string(options.dumps.background)
      << "\", \"active_buffer_size\": " << options.dumps.hints.active_buffer_size
      << ", \"method\": \"" << penstock::to_string(options.dumps.hints.method) << "\", "
      << trace.json() << "}";
  return out.str();
}

/// Seconds from the restart to the last close; computation of this rank is the time not spent in
/// reads and writes.
void finish(const Options& options, const Gas& gas, const Trace& mine, double elapsed) {
  const MPI_Comm comm = gas.grid.comm();
  std::array<double, 3> seconds{greatest(comm, elapsed), 0, 0};
  const Trace all = mine.sum(comm);
  if (gas.grid.rank() != 0) return;
  seconds[1] = elapsed - all.visible / gas.grid.ranks();
  std::printf("%lld iterations in %.2f s, of which %.2f s were reads and writes\n",
              static_cast<long long>(options.iterations), seconds[0],
              all.visible / gas.grid.ranks());
  if (options.record.empty()) return;
  std::ofstream out(options.record, std::ios::app);
  out << record_of(options, gas, all, seconds) << "\n";
  if (!out.flush())
    std::fprintf(stderr, "jeans: %s could not be written\n", options.record.c_str());
}

void run(const Options& options) {
  check_room(options);
  Gas gas(Grid(MPI_COMM_WORLD, options.cells, 1.0, hydro_ghosts), options.physics);
  Trace trace;
  MPI_Barrier(MPI_COMM_WORLD);
  const Stopwatch watch;
  begin(options, gas, trace);
  Solver solver(gas);
  solver.solve_potential(gas);
  Dumper dumper(gas, options.dumps, trace);
  for (std::int64_t i = 1; i <= options.iterations; ++i) {
    solver.advance(gas, solver.stable_step(gas));
    if (!options.quiet) tell(gas, solver);
    if (options.dump_every > 0 && i % options.dump_every == 0) dumper.dump(gas);
  }
  dumper.finish();
  finish(options, gas, trace, watch.seconds());
}

/// The exit status; ranks have the same arguments, so all of them return the same.
int run(int argc, char** argv) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    run(Options::parse(argc, argv));
    return 0;
  } catch (const penstock::Error& error) {
    if (rank == 0) std::fprintf(stderr, "jeans: %s\n", error.what());
    return error.error_class() == penstock::ErrorClass::argument ? 2 : 1;
  } catch (const std::exception& error) {  // of this rank alone: the others must not wait for it
    std::fprintf(stderr, "jeans: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
}

}  // namespace
}  // namespace jeans

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--help")
      return std::fputs(jeans::Options::help().c_str(), stdout) < 0 ? 1 : 0;
  // background=all exchanges in a thread beside the solver's own messages.
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  const int status = jeans::run(argc, argv);
  MPI_Finalize();
  return status;
}
