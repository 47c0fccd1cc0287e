// Out-of-core arrays from C++: every element once, halos, another array to write into, errors on
// all ranks, bodies that throw.
#include "expect_error.hpp"
#include "mpi_main.hpp"

#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>

#include <penstock/out_of_core.hpp>

namespace ps = penstock;
using mpi_test::rank;
using mpi_test::size;

namespace {

constexpr std::int64_t rows = 41, columns = 17;

std::string path_of(const std::string& name) {
  return mpi_test::folder() + "/" + name;
}

ps::OutOfCoreArray open(const std::string& name, ps::Mode mode, const ps::OutOfCoreSpec& spec) {
  const ps::ArraySpec array{.shape = {rows, columns}, .element_size = 8, .dtype = "<f8"};
  return ps::OutOfCoreArray::open(MPI_COMM_WORLD, path_of(name), mode, array, spec);
}

ps::OutOfCoreSpec of_memory(std::int64_t bytes) {
  return {.share = std::nullopt, .memory = bytes};
}

ps::TileLoop of_use(ps::TileUse use) {
  ps::TileLoop loop;
  loop.use = use;
  return loop;
}

/// Calls `f(row, column, value)` for each element of the tile's section, `values` being of it.
template <class F>
void for_each_element(const ps::Section& section, std::span<double> values, F&& f) {
  const auto& r = std::get<ps::Range>(section.dimensions()[0]);
  const auto& c = std::get<ps::Range>(section.dimensions()[1]);
  std::size_t at = 0;
  for (auto i = r.lower; i < r.upper; i += r.stride)
    for (auto j = c.lower; j < c.upper; j += c.stride) f(i, j, values[at++]);
}

double value_at(std::int64_t i, std::int64_t j) {
  return static_cast<double>(i * columns + j);
}

void fill(const std::string& name, std::int64_t memory = 16384) {
  auto array = open(name, ps::Mode::create, of_memory(memory));
  array.for_each_tile(of_use(ps::TileUse::write), [](ps::Tile& tile) {
    for_each_element(tile.place.section, tile.values<double>(),
                     [](auto i, auto j, double& v) { v = value_at(i, j); });
  });
  array.close();
}

std::vector<double> all_of(const std::string& name) {
  mpi_test::barrier();
  std::vector<double> values(rows * columns);
  std::ifstream in(path_of(name), std::ios::binary);
  in.read(reinterpret_cast<char*>(values.data()),
          static_cast<std::streamsize>(values.size() * sizeof(double)));
  EXPECT_TRUE(in.good());
  mpi_test::barrier();
  return values;
}

std::vector<double> expected(double factor = 1, double more = 0) {
  std::vector<double> values(rows * columns);
  std::iota(values.begin(), values.end(), 0.0);
  for (double& v : values) v = v * factor + more;
  return values;
}

TEST(OutOfCore, EachElementIsWrittenOnceAndUpdated) {
  for (const std::int64_t memory : {9000, 20000, 1 << 22}) {
    fill("a", memory);
    EXPECT_EQ(all_of("a"), expected());
    auto array = open("a", ps::Mode::read_write, of_memory(memory));
    for (const int axis : {-1, 1}) {
      ps::TileLoop loop = of_use(ps::TileUse::update);
      loop.axis = axis;
      array.for_each_tile(loop, [](ps::Tile& tile) {
        EXPECT_EQ(tile.out_data, tile.data);
        for (double& v : tile.values<double>()) v *= 2;
      });
    }
    array.close();
    EXPECT_EQ(all_of("a"), expected(4));
  }
}

TEST(OutOfCore, SharesOfADistributionMayHaveDifferentNumbersOfTiles) {
  fill("b");
  ps::OutOfCoreSpec spec = of_memory(9500);
  spec.share = rank() == 0 ? ps::Section{{0, rows}, {0, columns - size() + 1}}
                           : ps::Section{{0, rows}, {columns - rank(), columns - rank() + 1}};
  auto array = open("b", ps::Mode::read_write, spec);
  std::int64_t own = 0, even = 0;
  array.for_each_tile(of_use(ps::TileUse::update), [&](ps::Tile& tile) {
    ++own;
    for (double& v : tile.values<double>()) v += 1;
  });
  ps::TileLoop loop = of_use(ps::TileUse::read);
  loop.even = true;
  array.for_each_tile(loop, [&](ps::Tile& tile) {
    mpi_test::barrier();
    EXPECT_EQ(even++, tile.index);
  });
  std::int64_t most = 0, least = 0;  // number of steps: alike on all ranks, whatever their tiles
  MPI_Allreduce(&even, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(&even, &least, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
  EXPECT_EQ(most, least);
  EXPECT_GT(most, 1);
  EXPECT_GT(own, 0);
  array.close();
  EXPECT_EQ(all_of("b"), expected(1, 1));
}

TEST(OutOfCore, HalosAreReadAndAnotherArrayIsWritten) {
  fill("c");
  auto source = open("c", ps::Mode::read, of_memory(14000));
  auto target = open("d", ps::Mode::create, of_memory(14000));
  ps::TileLoop loop;
  loop.halo = {2, 1};
  loop.tile_shape = {6, 5};
  loop.into = &target;
  source.for_each_tile(loop, [](ps::Tile& tile) {
    std::size_t wrong = 0;
    for_each_element(tile.place.with_halo, tile.values<double>(),
                     [&](auto i, auto j, double v) { wrong += v != value_at(i, j); });
    EXPECT_EQ(wrong, 0u);
    for_each_element(tile.place.section, tile.out<double>(),
                     [](auto i, auto j, double& v) { v = -value_at(i, j); });
  });
  target.close();
  source.close();
  EXPECT_EQ(all_of("d"), expected(-1));
}

TEST(OutOfCore, TilesFitIntoTheMemoryOfBothArrays) {
  fill("l");
  for (const auto& [of_source, of_target] :
       {std::pair{9000, 20000}, {20000, 9000}, {1 << 20, 8800}}) {
    auto source = open("l", ps::Mode::read, of_memory(of_source));
    const ps::ArraySpec narrow{.shape = {rows, columns}, .element_size = 4, .dtype = "<f4"};
    auto target = ps::OutOfCoreArray::open(MPI_COMM_WORLD, path_of("m"), ps::Mode::create, narrow,
                                           of_memory(of_target));
    ps::TileLoop loop;
    loop.into = &target;
    std::int64_t elements = 0;
    source.for_each_tile(loop, [&](ps::Tile& tile) {
      const std::int64_t own = tile.place.section.element_count();
      elements += own;
      EXPECT_LE(own * 8, source.budget().tile_bytes(ps::TileUse::read));
      EXPECT_LE(own * 4, target.budget().tile_bytes(ps::TileUse::write));
    });
    MPI_Allreduce(MPI_IN_PLACE, &elements, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQ(elements, rows * columns);
    target.close();
    source.close();
  }
}

ps::Hints slow_device(const std::string& pace, const std::string& method) {
  ps::Hints hints;
  hints.set({{"device", "paced:" + pace}, {"method", method}});
  return hints;
}

/// Tiles of an earlier loop are written from its memory, and may not all be written yet.
TEST(OutOfCore, WhatIsOnItsWayToTheArrayThatIsWrittenIntoGetsThere) {
  fill("h");
  ps::OutOfCoreSpec spec = of_memory(9500);
  spec.share = ps::Section{{rank(), rank() + 1}, {0, columns}};
  auto source = open("h", ps::Mode::read, spec);
  const ps::ArraySpec array{.shape = {rows, columns}, .element_size = 8, .dtype = "<f8"};
  auto target = ps::OutOfCoreArray::open(MPI_COMM_WORLD, path_of("i"), ps::Mode::create, array,
                                         of_memory(9500), slow_device("latency=4ms", "direct"));
  ps::TileLoop loop = of_use(ps::TileUse::write);
  loop.tile_shape = {2, columns};
  target.for_each_tile(loop, [](ps::Tile& tile) {
    for_each_element(tile.place.section, tile.values<double>(),
                     [](auto i, auto j, double& v) { v = value_at(i, j); });
  });
  loop = ps::TileLoop();
  loop.into = &target;
  source.for_each_tile(loop, [](ps::Tile& tile) {
    for (double& v : tile.out<double>()) v = -1;
  });
  target.close();
  source.close();
  std::vector<double> wanted = expected();
  std::fill_n(wanted.begin(), size() * columns, -1.0);
  EXPECT_EQ(all_of("i"), wanted);
}

/// Closed arrays have nothing in flight: their memory does not count for others.
TEST(OutOfCore, TheActiveBufferIsThatOfTheArraysThatAreOpen) {
  for (int i = 0; i < 5; ++i) fill("j", 1 << 20);
  const ps::ArraySpec array{.shape = {size() * 256, 256}, .element_size = 8, .dtype = "<f8"};
  auto written =
      ps::OutOfCoreArray::open(MPI_COMM_WORLD, path_of("k"), ps::Mode::create, array,
                               of_memory(1 << 20), slow_device("bandwidth=20M", "extended"));
  written.for_each_tile(of_use(ps::TileUse::write), [](ps::Tile& tile) {
    for (double& v : tile.values<double>()) v = 1;
  });
  written.flush();
  EXPECT_GT(written.file().statistics().buffer_peak, 0);
  EXPECT_LE(written.file().statistics().buffer_peak, written.budget().active_buffer());
  written.close();
}

TEST(OutOfCore, ErrorsAreThoseOfAllRanks) {
  fill("e");
  const bool last = rank() == size() - 1;
  ps::expect_error(ps::ErrorClass::argument, "leave nothing for tiles",
                   [] { open("e", ps::Mode::read, of_memory(8192)); });
  ps::expect_error(ps::ErrorClass::argument, "on one machine are more than",
                   [] { open("e", ps::Mode::read, of_memory(std::int64_t{1} << 50)); });
  if (size() > 1) {  // sufficient for one of them
    std::int64_t memory = ps::free_room(path_of("e")).memory / 4 * 3;
    MPI_Bcast(&memory, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    ps::expect_error(ps::ErrorClass::argument, "on one machine are more than",
                     [&] { open("e", ps::Mode::read, of_memory(memory)); });
  }
  if (size() > 1)
    ps::expect_error(ps::ErrorClass::disagreement, "memory",
                     [&] { open("e", ps::Mode::read, of_memory(last ? 10000 : 20000)); });
  ps::expect_error(ps::ErrorClass::storage, "free; nothing was changed", [] {
    const ps::ArraySpec huge{.shape = {1 << 30, 1 << 20}, .element_size = 8, .dtype = "<f8"};
    ps::OutOfCoreArray::open(MPI_COMM_WORLD, path_of("huge"), ps::Mode::create, huge);
  });
  EXPECT_FALSE(std::filesystem::exists(path_of("huge")));
  const std::vector<double> before = all_of("e");
  ps::expect_error(ps::ErrorClass::section, "", [&] {
    ps::OutOfCoreSpec spec = of_memory(20000);
    if (last) spec.share = ps::Section{{0, rows + 1}, {0, columns}};
    else spec.share = ps::Section{{0, 1}, {0, columns}};
    const ps::ArraySpec array{.shape = {rows, columns}, .element_size = 8, .dtype = "<f8"};
    ps::OutOfCoreArray::open(MPI_COMM_WORLD, path_of("e"), ps::Mode::create, array, spec);
  });
  EXPECT_EQ(all_of("e"), before);
  auto array = open("e", ps::Mode::read, of_memory(12000));
  const auto nothing = [](ps::Tile&) { ADD_FAILURE() << "no tile"; };
  ps::TileLoop loop;
  loop.axis = last ? 7 : 0;
  ps::expect_error(ps::ErrorClass::argument, "axis 7 is none",
                   [&] { array.for_each_tile(loop, nothing); });
  loop.axis = 0;
  loop.tile_shape = {rows, columns};
  ps::expect_error(ps::ErrorClass::argument,
                   "this loop needs at least " + std::to_string(rows * columns * 8 * 3 + 8192),
                   [&] { array.for_each_tile(loop, nothing); });
  loop = of_use(ps::TileUse::update);
  loop.halo = {1};
  ps::expect_error(ps::ErrorClass::argument, "is for loops that read alone",
                   [&] { array.for_each_tile(loop, nothing); });
  array.for_each_tile(of_use(ps::TileUse::read), [](ps::Tile&) {});  // it is still usable
  array.close();
  array.close();
}

TEST(OutOfCore, ABodyMayThrow) {
  fill("f");
  for (const int thrower : {-1, 0}) {
    fill("f");
    auto array = open("f", ps::Mode::read_write, of_memory(9500));
    ps::TileLoop loop = of_use(ps::TileUse::update);
    loop.tile_shape = {1, columns};
    loop.even = true;
    const auto body = [&](ps::Tile& tile) {
      for (double& v : tile.values<double>()) v += 1000;
      if (tile.index == 2 && (thrower < 0 || thrower == rank())) throw std::runtime_error("body");
    };
    if (thrower < 0 || thrower == rank())
      EXPECT_THROW(array.for_each_tile(loop, body), std::runtime_error);
    else ps::expect_error(ps::ErrorClass::state, "", [&] { array.for_each_tile(loop, body); });
    EXPECT_TRUE(array.file().closed());
    const std::vector<double> found = all_of("f"), was = expected();
    // What the loop had left behind is written: two steps of all ranks. Each element is old or new.
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double more = found[i] - was[i];
      EXPECT_TRUE(more == 0 || more == 1000) << i;
      const bool written = i < static_cast<std::size_t>(2 * size() * columns);
      EXPECT_TRUE(!written || more == 1000) << i;
    }
  }
}

/// Others find out from either array.
TEST(OutOfCore, ABodyThatThrowsLetsGoOfTheArrayItWritesInto) {
  fill("f");
  fill("g");
  auto from = open("f", ps::Mode::read, of_memory(9500));
  auto into = open("g", ps::Mode::read_write, of_memory(9500));
  ps::TileLoop loop = of_use(ps::TileUse::read);
  loop.into = &into;
  EXPECT_THROW(from.for_each_tile(loop, [](ps::Tile&) { throw std::runtime_error("body"); }),
               std::runtime_error);
  EXPECT_TRUE(from.file().closed());
  EXPECT_TRUE(into.file().closed());
}

TEST(OutOfCore, OneProcessAlone) {
  if (rank() == 0) {
    const ps::ArraySpec spec{.shape = {100}, .element_size = 4, .dtype = "<i4"};
    auto array = ps::OutOfCoreArray::open(MPI_COMM_SELF, path_of("g"), ps::Mode::create, spec,
                                          of_memory(9000));
    std::int64_t elements = 0;
    array.for_each_tile(of_use(ps::TileUse::write), [&](ps::Tile& tile) {
      elements += static_cast<std::int64_t>(tile.values<int>().size());
    });
    EXPECT_EQ(elements, 100);
    array.close();
  }
  mpi_test::barrier();
}

}  // namespace

int main(int argc, char** argv) {
  return mpi_test::main(argc, argv);
}
