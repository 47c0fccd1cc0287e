// MPI-IO as a program sees it, to be run with the drop-in MPI-IO and without (bench/mpi_io.py):
//   mpiexec -n 4 mpi_io FOLDER [REPEATS]
// Prints "case seconds" of each run on rank 0: the slowest rank's, by the machine's clock. A run of
// "ArrayFile" is the same write through Penstock's C++ interface, in turns with the other.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <penstock/penstock.hpp>

namespace {

int rank = 0, ranks = 1;
std::string folder;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Sleeps: MPI's own would spin, on cores that slower ranks need.
void barrier() {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
    std::this_thread::sleep_for(std::chrono::microseconds(200));
}

template <class Work>
void timed(const char* name, Work&& work, double per = 1) {
  barrier();
  const double begin = now();
  work();
  double times[2] = {begin, -now()}, all[2];  // of the first to begin, and the last to end
  MPI_Reduce(times, all, 2, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%s;%.9f\n", name, (-all[1] - all[0]) / per);
}

MPI_File open(const std::string& name, bool buffered = false) {
  MPI_Info info;
  MPI_Info_create(&info);
  if (!buffered) MPI_Info_set(info, "penstock_active_buffer_size", "0");
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, (folder + "/" + name).c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE,
                    info, &file) != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Info_free(&info);
  return file;
}

constexpr int side = 4096;  // of an array of 4-byte elements: 64 MiB

struct Block {
  int rows, columns, row, column;
  Block() {
    int down = 1;
    for (int d = 1; d * d <= ranks; ++d)
      if (ranks % d == 0) down = d;
    rows = side / down;
    columns = side / (ranks / down);
    row = rank / (ranks / down) * rows;
    column = rank % (ranks / down) * columns;
  }
};

void block_block(int repeats) {
  const Block block;
  const std::vector<int> data(static_cast<std::size_t>(block.rows) * block.columns, rank);
  const int sizes[] = {side, side}, parts[] = {block.rows, block.columns},
            starts[] = {block.row, block.column};
  MPI_Datatype view;
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &view);
  MPI_Type_commit(&view);
  const MPI_File file = open("block");
  MPI_File_set_view(file, 0, MPI_INT, view, "native", MPI_INFO_NULL);
  penstock::ArraySpec spec;
  spec.shape = {side, side};
  spec.element_size = 4;
  spec.container = penstock::Container::raw;
  penstock::Hints hints;
  hints.active_buffer_size = 0;
  penstock::ArrayFile array = penstock::ArrayFile::open(MPI_COMM_WORLD, folder + "/array",
                                                        penstock::Mode::create, spec, hints);
  const penstock::Section section{{block.row, block.row + block.rows},
                                  {block.column, block.column + block.columns}};
  const int count = static_cast<int>(data.size());
  for (int i = -1; i < repeats; ++i) {
    timed(i < 0 ? "first" : "64 MiB block-block, write_at_all",
          [&] { MPI_File_write_at_all(file, 0, data.data(), count, MPI_INT, MPI_STATUS_IGNORE); });
    timed(i < 0 ? "first" : "64 MiB block-block, ArrayFile", [&] { array.write(data, section); });
  }
  std::vector<int> back(data.size());
  for (int i = -1; i < repeats; ++i)
    timed(i < 0 ? "first" : "64 MiB block-block, read_at_all",
          [&] { MPI_File_read_at_all(file, 0, back.data(), count, MPI_INT, MPI_STATUS_IGNORE); });
  if (back != data) std::printf("rank %d: what was read is wrong\n", rank);
  array.close();
  MPI_File_close(const_cast<MPI_File*>(&file));
  MPI_Type_free(&view);
}

void cyclic(int repeats, int mebibytes) {
  const int count = mebibytes * (1 << 18) / ranks;
  const std::vector<int> data(static_cast<std::size_t>(count), rank);
  MPI_Datatype one, view;
  MPI_Type_create_resized(MPI_INT, 0, MPI_Aint{4} * ranks, &one);
  MPI_Type_contiguous(1, one, &view);
  MPI_Type_commit(&view);
  MPI_File file = open("cyclic");
  MPI_File_set_view(file, MPI_Offset{4} * rank, MPI_INT, view, "native", MPI_INFO_NULL);
  const std::string name = std::to_string(mebibytes) + " MiB 4-byte-cyclic, write_at_all";
  for (int i = -1; i < repeats; ++i)
    timed(i < 0 ? "first" : name.c_str(),
          [&] { MPI_File_write_at_all(file, 0, data.data(), count, MPI_INT, MPI_STATUS_IGNORE); });
  MPI_File_close(&file);
  MPI_Type_free(&view);
  MPI_Type_free(&one);
}

void small_writes(int repeats) {
  constexpr int writes = 4000, bytes = 4096;
  const std::vector<char> data(bytes, 'x');
  MPI_File file = open("small");
  for (int i = -1; i < repeats; ++i)
    timed(
        i < 0 ? "first" : "4 KiB independent write_at, each",
        [&] {
          for (int k = 0; k < writes; ++k)
            MPI_File_write_at(file, (MPI_Offset{writes} * rank + k) * bytes, data.data(), bytes,
                              MPI_BYTE, MPI_STATUS_IGNORE);
        },
        writes);
  MPI_File_close(&file);
}

void opens(int repeats) {
  constexpr int files = 1000;
  for (int i = -1; i < repeats; ++i)
    timed(
        i < 0 ? "first" : "open and close 1,000 files, each",
        [&] {
          for (int k = 0; k < files; ++k) {
            MPI_File file = open("open" + std::to_string(k), true);
            MPI_File_close(&file);
          }
        },
        files);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  folder = argc > 1 ? argv[1] : ".";
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 5;
  block_block(repeats);
  cyclic(std::min(repeats, 3), 8);
  small_writes(repeats);
  opens(std::min(repeats, 2));
  MPI_Finalize();
}
