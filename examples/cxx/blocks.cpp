#include <penstock/penstock.hpp>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  {
    const penstock::ArraySpec spec{.shape = {512, 512}, .element_size = 8, .dtype = "<f8"};
    auto file = penstock::ArrayFile::open(MPI_COMM_WORLD, "blocks.npy", penstock::Mode::create, spec);
    const penstock::Distribution blocks(spec.shape, ranks, {{}, {}});  // block, block
    const penstock::Section mine = blocks.share(rank).section;
    const std::vector<double> local(mine.element_count(), rank);
    file.write(local, mine);                                   // collective
    std::vector<double> column(512);
    file.read(column, penstock::Section{{0, 512}, {256, 257}});  // every rank the same column
    file.close();
  }
  MPI_Finalize();
}
