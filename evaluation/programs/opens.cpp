// What opening and closing files costs, in turns with MPI_File_open and MPI_File_close of the same
// MPI:  mpiexec -n 16 opens [FILES [FOLDER]]
// Files are opened one after the other on all ranks, new ones and such as are there, in blocks that
// take turns. A block's time is that of its slowest rank; between blocks ranks sleep until all are
// there. Ends with 1 where Penstock was slower.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <penstock/penstock.hpp>

#include "../tests/mpi/count_mpi.hpp"
#include "mpi/team.hpp"

namespace ps = penstock;

namespace {

constexpr int block = 50;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Sleeps: MPI's own would spin, on cores that slower ranks need.
void barrier() {
  MPI_Request request;
  PMPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
    std::this_thread::sleep_for(std::chrono::microseconds(200));
}

struct Counts {
  std::int64_t duplicates = count_mpi::duplicates, collectives = count_mpi::collectives,
               meetings = ps::Team::meetings();
};

/// Seconds of a block, on the slowest rank.
template <class Open>
double timed(int files, Open&& open) {
  barrier();
  const double begin = now();
  for (int i = 0; i < files; ++i) open(i);
  double mine = now() - begin, slowest = 0;
  PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

void open_penstock(const std::string& path, bool anew) {
  ps::ArraySpec spec;
  spec.shape = {64, 64};
  spec.element_size = 8;
  spec.container = ps::Container::raw;
  ps::ArrayFile::open(MPI_COMM_WORLD, path, anew ? ps::Mode::create : ps::Mode::read, spec).close();
}

void open_mpi(const std::string& path, bool anew) {
  MPI_File file;
  const int mode = anew ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY;
  if (MPI_File_open(MPI_COMM_WORLD, path.c_str(), mode, MPI_INFO_NULL, &file) != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_File_close(&file);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

bool run(const std::string& folder, int files, bool anew, bool speaks) {
  double penstock = 0, mpi = 0;
  std::vector<double> ratios;
  const Counts before;
  for (int begin = 0; begin < files; begin += block) {
    const int count = std::min(block, files - begin);
    const auto path = [&](const char* whose, int i) {
      return folder + "/" + whose + std::to_string(begin + i);
    };
    double ours = 0, theirs = 0;
    const auto measure_ours = [&] {
      ours = timed(count, [&](int i) { open_penstock(path("penstock", i), anew); });
    };
    if (begin / block % 2 == 0) measure_ours();
    theirs = timed(count, [&](int i) { open_mpi(path("mpi", i), anew); });
    if (begin / block % 2 != 0) measure_ours();
    penstock += ours;
    mpi += theirs;
    ratios.push_back(ours / theirs);
  }
  const Counts after;
  if (!speaks) return penstock <= mpi;
  std::printf("%-8s %6d %14.1f %14.1f %8.2f %8.2f %6lld %12.2f %10.2f\n", anew ? "new" : "existing",
              files, penstock / files * 1e6, mpi / files * 1e6, penstock / mpi, median(ratios),
              static_cast<long long>(after.duplicates - before.duplicates),
              static_cast<double>(after.collectives - before.collectives) / files,
              static_cast<double>(after.meetings - before.meetings) / files);
  std::fflush(stdout);
  return penstock <= mpi;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int files = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1000;
  char folder[4096] = "";
  std::snprintf(folder, sizeof folder, "%s/penstock-opens-XXXXXX", argc > 2 ? argv[2] : "/tmp");
  if (rank == 0 && mkdtemp(folder) == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
  PMPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf(
        "%d ranks; microseconds for an open and a close; ratio: of all, of the median block; "
        "meetings: in common memory\n%-8s %6s %14s %14s %8s %8s %6s %12s %10s\n",
        ranks, "files", "", "Penstock", "MPI", "ratio", "median", "dups", "collectives",
        "meetings");
  const bool anew = run(folder, files, true, rank == 0), old = run(folder, files, false, rank == 0);
  if (rank == 0) std::filesystem::remove_all(folder);
  const int code = rank == 0 && !(anew && old) ? 1 : 0;
  MPI_Finalize();
  return code;
}
