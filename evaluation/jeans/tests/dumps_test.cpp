// Dumps and restarts: the content of the files, to the byte, and the number of operations.
//   dumps_test FOLDER      on 8 ranks also the small case of the paper, with its exact counts
#include "../dumps.hpp"

#include <algorithm>
#include <fstream>
#include <map>

#include "../hydro.hpp"
#include "../problem.hpp"
#include "checks.hpp"

namespace jeans::tests {
namespace {

namespace fs = std::filesystem;
fs::path folder;

template <class T>
std::vector<T> content(const fs::path& path, std::size_t offset, std::size_t count) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(offset));
  std::vector<T> values(count);
  in.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
  check(static_cast<bool>(in), path.string() + " is shorter than it should be");
  return values;
}

DumpSettings settings(const char* buffer,
                      penstock::Background background = penstock::Background::none) {
  DumpSettings result;
  result.folder = folder;
  result.hints.set({{"active_buffer_size", buffer}, {"method", "extended"}});
  result.background = background;
  return result;
}

Gas cloud(MPI_Comm comm, const Index3& cells = {28, 20, 16}) {
  Gas gas(Grid(comm, cells, 1.0, hydro_ghosts), {});
  gas.physics.four_pi_g = four_pi_g_of(3, 1.0);
  Cloud{}.set(gas);
  return gas;
}

void advance(Gas& gas, int steps) {
  Solver solver(gas);
  solver.solve_potential(gas);
  for (int step = 0; step < steps; ++step) solver.advance(gas, solver.stable_step(gas));
}

template <class T>
void check_arrays(const Gas& gas, const fs::path& path, const std::string& what) {
  const auto cells = static_cast<std::size_t>(product(gas.grid.cells()));
  const auto header = content<T>(path, 0, header_reals);
  check(header[0] == static_cast<T>(gas.iteration) && header[1] == static_cast<T>(gas.time) &&
            header[4] == static_cast<T>(gas.physics.four_pi_g),
        what + ": the header");
  const auto numbers = content<T>(path, header_reals * sizeof(T), arrays * cells);
  for (int a = 0; a < arrays; ++a) {
    const std::vector<double> expected = whole(gas.grid, gas.fields[a]);
    bool good = true;
    for (std::size_t i = 0; i < cells; ++i)
      good = good && numbers[a * cells + i] == static_cast<T>(expected[i]);
    check(good, what + ": array " + std::to_string(a));
  }
  check(fs::file_size(path) == (header_reals + arrays * cells) * sizeof(T), what + ": its size");
}

void check_picture(const Gas& gas) {
  const fs::path path = folder / ("potential-00000" + std::to_string(gas.iteration) + ".dat");
  const std::vector<double> expected = whole(gas.grid, gas[potential]);
  const auto header = content<float>(path, 0, header_reals);
  const auto bytes = content<std::uint8_t>(path, header_reals * sizeof(float), expected.size());
  const auto [least, most] = std::minmax_element(expected.begin(), expected.end());
  check(header[2] == static_cast<float>(*least) && header[3] == static_cast<float>(*most),
        "least and greatest potential");
  double worst = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    worst = std::max(worst, std::abs(*least + bytes[i] * (*most - *least) / 255 - expected[i]));
  check_between(worst / (*most - *least), 0.0005, 0.00197,
                "greatest error of a byte, of the range");
  check(fs::file_size(path) == header_reals * sizeof(float) + bytes.size(), "size of a picture");
}

void files(const char* buffer, penstock::Background background) {
  Gas gas = cloud(MPI_COMM_WORLD);
  Trace trace;
  DumpSettings how = settings(buffer, background);
  how.checkpoint = true;
  Dumper dumper(gas, how, trace);
  const std::string what = std::string(to_string(background)) + ", buffer " + buffer;
  for (int dump = 0; dump < 2; ++dump) {
    advance(gas, 1);
    dumper.dump(gas);
  }
  const double time = gas.time;
  gas.time = -1;  // memory that has been dumped may change
  for (Field& field : gas.fields) field.fill(3);
  dumper.finish();
  check(trace.dumps == 2 && trace.open.count == 12 && trace.close.count == 12,
        what + ": opens and closes of this rank");
  Gas again = cloud(MPI_COMM_WORLD);
  advance(again, 1);
  advance(again, 1);
  check(again.time == time, "a run is the same again");
  MPI_Barrier(MPI_COMM_WORLD);
  check_arrays<float>(again, folder / "analysis-000002.dat", what + ", analysis");
  check_arrays<float>(again, folder / "restart.dat", what + ", restart");
  check_arrays<double>(again, folder / "checkpoint.dat", what + ", checkpoint");
  check_picture(again);
  MPI_Barrier(MPI_COMM_WORLD);
}

void restarts() {
  Gas gas = cloud(MPI_COMM_WORLD), again = cloud(MPI_COMM_WORLD, {28, 20, 16}), rounded = again;
  Gas alone = cloud(MPI_COMM_SELF);
  advance(gas, 3);
  Trace trace;
  DumpSettings how = settings("0");
  how.checkpoint = true;
  Dumper(gas, how, trace).dump(gas);
  read_restart(folder / "checkpoint.dat", {}, again, trace);
  read_restart(folder / "checkpoint.dat", {}, alone, trace);
  read_restart(folder / "restart.dat", {}, rounded, trace);
  for (int a = 0; a < arrays; ++a) {
    const auto expected = whole(gas.grid, gas.fields[a]),
               found = whole(gas.grid, rounded.fields[a]);
    bool good = true;
    for (std::size_t i = 0; i < found.size(); ++i)
      good = good && found[i] == static_cast<double>(static_cast<float>(expected[i]));
    check(good, "a restart file, to single precision: array " + std::to_string(a));
  }
  for (Gas* one : {&gas, &again, &alone, &rounded}) advance(*one, 3);
  check(gas.iteration == again.iteration && gas.time == again.time, "time after a restart");
  for (int a = 0; a < arrays; ++a) {
    const auto expected = whole(gas.grid, gas.fields[a]);
    check(expected == whole(gas.grid, again.fields[a]),
          "bit for bit after a restart: array " + std::to_string(a));
    check(expected == whole(alone.grid, alone.fields[a]),
          "the same on one rank: array " + std::to_string(a));
    const auto near = whole(gas.grid, rounded.fields[a]);
    double worst = 0, most = 0;
    for (std::size_t i = 0; i < near.size(); ++i) {
      worst = std::max(worst, std::abs(near[i] - expected[i]));
      most = std::max(most, std::abs(expected[i]));
    }
    check_between(worst / most, 0, 3e-5,
                  "difference after a restart in single precision, array " + std::to_string(a));
  }
}

void wrong_files() {
  Gas gas = cloud(MPI_COMM_WORLD);
  Trace trace;
  const auto words_of = [&](const fs::path& path) -> std::string {
    try {
      read_restart(path, {}, gas, trace);
    } catch (const penstock::Error& error) {
      return error.what();
    }
    return "no error";
  };
  check(words_of(folder / "nothing.dat").find("nothing.dat") != std::string::npos,
        "a file that is not there is named");
  if (gas.grid.rank() == 0) std::ofstream(folder / "short.dat") << "too short";
  const std::string words = words_of(folder / "short.dat");
  check(words.find("has 9 bytes") != std::string::npos &&
            words.find("28 x 20 x 16") != std::string::npos,
        words);
}

/// 20 iterations with a dump after each 5 of them, from a restart file: Tables 1 to 3 of the paper.
void small_case_of_the_paper() {
  const Index3 cells{128, 128, 64};
  Gas gas(Grid(MPI_COMM_WORLD, cells, 1.0, hydro_ghosts), {});
  Cloud{}.set(gas);
  DumpSettings how = settings("0");
  how.hints.set({{"aggregators", "8"}, {"buffer_size", "4M"}});
  Trace before, mine;
  Dumper(gas, how, before).dump(gas);
  read_restart(folder / "restart.dat", how.hints, gas, mine);
  Dumper dumper(gas, how, mine);
  for (int dump = 1; dump <= 4; ++dump) {
    gas.iteration = 5 * dump;
    dumper.dump(gas);
  }
  dumper.finish();
  const Trace all = mine.sum(MPI_COMM_WORLD);
  if (gas.grid.rank() != 0) return;
  using Sizes = std::map<std::int64_t, std::int64_t>;
  check(all.open.count == 200 && all.close.count == 200, "200 opens and closes");
  check(all.read.sizes == Sizes{{24, 1}, {512 << 10, 48}}, "49 reads: " + all.json());
  check(all.write.sizes == Sizes{{24, 24}, {128 << 10, 128}, {512 << 10, 384}},
        "536 writes: " + all.json());
  check(all.write.bytes == 24 * 24 + (std::int64_t{208} << 20), "208 MiB written");
  check(all.read.bytes == 24 + (std::int64_t{24} << 20), "24 MiB read");
  for (const auto& [name, size] : {std::pair{"analysis-000020.dat", 24 << 20},
                                   {"restart.dat", 24 << 20},
                                   {"density-000020.dat", 1 << 20}})
    check(fs::file_size(folder / name) == static_cast<std::uintmax_t>(size) + 24,
          std::string("size of ") + name);
}

void test() {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (ranks == 8) {
    small_case_of_the_paper();
  } else {
    for (const auto background : {penstock::Background::none, penstock::Background::storage})
      for (const char* buffer : {"0", "64M"}) files(buffer, background);
    restarts();
    wrong_files();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) fs::remove_all(folder);
}

}  // namespace
}  // namespace jeans::tests

int main(int argc, char** argv) {
  jeans::tests::folder = argc > 1 ? argv[1] : "dumps_test.run";
  return jeans::tests::run(argc, argv, jeans::tests::test);
}
