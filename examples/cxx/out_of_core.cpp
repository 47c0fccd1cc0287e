// An array larger than the given memory: created, and smoothed into another one, tile by tile.
#include <penstock/penstock.hpp>

#include <algorithm>
#include <cstdint>

namespace {

using penstock::Tile;

constexpr std::int64_t rows = 2000, columns = 300;

penstock::OutOfCoreArray open(const char* name, penstock::Mode mode) {
  const penstock::ArraySpec array{.shape = {rows, columns}, .element_size = 8, .dtype = "<f8"};
  return penstock::OutOfCoreArray::open(MPI_COMM_WORLD, name, mode, array,
                                        {.share = std::nullopt, .memory = 256 * 1024});
}

std::int64_t first_row(const penstock::Section& section) {
  return std::get<penstock::Range>(section.dimensions()[0]).lower;
}

/// Each element is the square of its row.
void make(Tile& tile) {
  const std::int64_t first = first_row(tile.place.section);
  const auto values = tile.values<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t row = first + static_cast<std::int64_t>(i) / columns;
    values[i] = static_cast<double>(row * row);
  }
}

/// The mean of the rows above and below; at the edge of the array, the row itself is used.
void smooth(Tile& tile) {
  const auto cells = tile.values<double>(), out = tile.out<double>();
  const auto last = static_cast<std::int64_t>(cells.size()) - columns;
  const std::int64_t before = tile.place.halo_before[0] * columns;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(out.size()); ++i) {
    const std::int64_t here = before + i;
    const double above = cells[here >= columns ? here - columns : here];
    const double below = cells[here < last ? here + columns : here];
    out[i] = (above + below) / 2;
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    auto squares = open("squares.npy", penstock::Mode::create);
    penstock::TileLoop loop;
    loop.use = penstock::TileUse::write;
    squares.for_each_tile(loop, make);
    auto means = open("means.npy", penstock::Mode::create);
    loop = {};
    loop.halo = {1, 0};
    loop.into = &means;
    squares.for_each_tile(loop, smooth);  // meanwhile the next tile is read, and the last written
    means.close();
    squares.close();
  }
  MPI_Finalize();
}
