#include "dumps.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <span>
#include <string>

#include "reduce.hpp"

namespace jeans {
namespace {

namespace fs = std::filesystem;
using penstock::Error;
using penstock::ErrorClass;
using penstock::FieldsFile;
using penstock::Mode;
using Header = std::array<double, header_reals>;

constexpr const char* header_name = "header";
constexpr std::array<const char*, arrays> array_names{"density",    "momentum_x", "momentum_y",
                                                      "momentum_z", "energy",     "potential"};
constexpr std::array<const char*, pictures> picture_names{"density", "pressure", "speed",
                                                          "potential"};

std::int64_t file_bytes(const Index3& cells, std::int64_t arrays_in_it, std::int64_t real,
                        std::int64_t element) {
  return header_reals * real + arrays_in_it * element * product(cells);
}

/// A header of six Reals, then arrays of T, as one processor writes them.
template <class Real, class T>
penstock::FieldsSpec spec_of(const Index3& cells, std::span<const char* const> names) {
  penstock::FieldsSpec spec;
  spec.order = penstock::Order::fortran;
  spec.fields.push_back({header_name, {header_reals}, penstock::dtype_of<Real>(), {}});
  for (const char* name : names)
    spec.fields.push_back({name, {cells[0], cells[1], cells[2]}, penstock::dtype_of<T>(), {}});
  return spec;
}

penstock::Section section_of(const Grid& grid) {
  const Index3 from = grid.lower(), n = grid.size();
  return {{from[0], from[0] + n[0]}, {from[1], from[1] + n[1]}, {from[2], from[2] + n[2]}};
}

/// For a rank's cells in an array of a file; x runs fastest.
template <class Byte, class T>
penstock::MemoryView<Byte> dense(T* data, const Index3& n) {
  return {reinterpret_cast<Byte*>(data),
          {},
          {},
          static_cast<std::size_t>(product(n)) * sizeof(T),
          sizeof(T)};
}

/// Collective: runs work on rank 0 alone. If it fails, all ranks throw its error.
void on_rank_0(MPI_Comm comm, const std::function<void()>& work) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::array<int, 2> failed{};  // the class, and the length of the text
  std::string words;
  if (rank == 0) {
    try {
      work();
    } catch (const Error& error) {
      failed[0] = static_cast<int>(error.error_class());
      words = error.what();
    } catch (const std::exception& error) {
      failed[0] = static_cast<int>(ErrorClass::storage);
      words = error.what();
    }
    failed[1] = static_cast<int>(words.size());
  }
  MPI_Bcast(failed.data(), 2, MPI_INT, 0, comm);
  if (failed[0] == 0) return;
  words.resize(static_cast<std::size_t>(failed[1]));
  MPI_Bcast(words.data(), failed[1], MPI_CHAR, 0, comm);
  throw Error(static_cast<ErrorClass>(failed[0]), words);
}

/// Only rank 0 moves it, in one access.
penstock::Hints hints_of_header(const FieldsFile& file) {
  penstock::Hints hints = file.hints();
  hints.method = penstock::Method::direct;
  hints.active_buffer_size = 0;
  return hints;
}

penstock::Section section_of_header(const Grid& grid) {
  return grid.rank() == 0 ? penstock::Section{{0, header_reals}} : penstock::Section{};
}

/// Collective. The file has it in its own precision.
void write_header(FieldsFile& file, const Grid& grid, const Header& header) {
  const penstock::Hints hints = hints_of_header(file);
  const std::vector<double> mine(header.begin(), grid.rank() == 0 ? header.end() : header.begin());
  file[header_name].write(mine, section_of_header(grid), &hints);
}

/// Collective: all ranks get it.
Header read_header(FieldsFile& file, const Grid& grid) {
  const penstock::Hints hints = hints_of_header(file);
  Header header{};
  const std::span<double> mine(header.data(), grid.rank() == 0 ? header.size() : 0);
  file[header_name].read(mine, section_of_header(grid), &hints);
  MPI_Bcast(header.data(), header_reals, MPI_DOUBLE, 0, grid.comm());
  return header;
}

Header header_of(const Gas& gas) {
  return {static_cast<double>(gas.iteration),
          gas.time,
          gas.step,
          gas.physics.gamma,
          gas.physics.four_pi_g,
          gas.grid.length()};
}

std::string numbered(const char* name, std::int64_t iteration) {
  char text[64];
  std::snprintf(text, sizeof text, "%s-%06lld.dat", name, static_cast<long long>(iteration));
  return text;
}

double value_of(const Gas& gas, int picture, const Index3& at) {
  const auto cell = [&](int name) { return *gas.fields[name].at(at[0], at[1], at[2]); };
  const double rho = cell(density);
  const std::array<double, 3> m{cell(momentum_x), cell(momentum_y), cell(momentum_z)};
  switch (picture) {
    case 0: return std::log10(rho);
    case 1: return std::log10(std::max(pressure(gas.physics.gamma, rho, m, cell(energy)), 1e-12));
    case 2: return std::sqrt(m[0] * m[0] + m[1] * m[1] + m[2] * m[2]) / rho;
    default: return cell(potential);
  }
}

}  // namespace

std::int64_t bytes_of_dumps(const Index3& cells, std::int64_t dumps, bool checkpoint) noexcept {
  const std::int64_t single = file_bytes(cells, arrays, sizeof(float), sizeof(float));
  const std::int64_t each = single + pictures * file_bytes(cells, 1, sizeof(float), 1);
  const std::int64_t twice =
      checkpoint ? 2 * file_bytes(cells, arrays, sizeof(double), sizeof(double)) : 0;
  return dumps > 0 ? dumps * each + single + twice : 0;
}

Dumper::Dumper(const Gas& gas, DumpSettings settings, Trace& trace)
    : grid_(gas.grid), settings_(std::move(settings)), trace_(trace) {
  const auto cells = static_cast<std::size_t>(product(grid_.size()));
  for (auto& array : numbers_) array.resize(cells);
  for (auto& array : characters_) array.resize(cells);
}

void Dumper::dump(const Gas& gas) {
  finish();  // the memory of the previous one is reused
  convert(gas);
  std::array<Header, pictures> headers;
  for (int p = 0; p < pictures; ++p) headers[p] = draw(gas, p);

  const Stopwatch watch;
  const auto numbers = spec_of<float, float>(grid_.cells(), array_names);
  write_file({numbered("analysis", gas.iteration), Mode::create, numbers}, header_of(gas),
             views_of(numbers_));
  write_file({"restart.dat", Mode::replace, numbers}, header_of(gas), views_of(numbers_));
  for (int p = 0; p < pictures; ++p)
    write_file({numbered(picture_names[p], gas.iteration), Mode::create,
                spec_of<float, std::uint8_t>(grid_.cells(), std::span(&picture_names[p], 1))},
               headers[p], views_of(std::span(&characters_[p], 1)));
  if (settings_.checkpoint) checkpoint(gas);
  trace_.visible += watch.seconds();
  ++trace_.dumps;
}

void Dumper::finish() {
  const Stopwatch watch;
  for (Pending& pending : pending_) {
    for (auto& handle : pending.handles) handle.wait();
    trace_.add(pending.file.statistics());
    close(pending);
  }
  pending_.clear();
  trace_.visible += watch.seconds();
}

void Dumper::convert(const Gas& gas) {
  const Index3 n = grid_.size();
  for (int a = 0; a < arrays; ++a) {
    float* out = numbers_[a].data();
    for_rows(n, [&](std::int64_t j, std::int64_t k) {
      const double* row = gas.fields[a].at(0, j, k);
      out = std::transform(row, row + n[0], out,
                           [](double value) { return static_cast<float>(value); });
    });
  }
}

/// A byte for each cell: 0 is the least value of all, 255 the greatest. Collective.
Header Dumper::draw(const Gas& gas, int picture) {
  const Index3 n = grid_.size();
  double ends[2] = {-std::numeric_limits<double>::infinity(),
                    -std::numeric_limits<double>::infinity()};
  const auto for_cells = [&](auto&& visit) {
    for_rows(n, [&](std::int64_t j, std::int64_t k) {
      for (std::int64_t i = 0; i < n[0]; ++i) visit(value_of(gas, picture, {i, j, k}));
    });
  };
  for_cells([&](double value) {
    ends[0] = std::max(ends[0], -value);
    ends[1] = std::max(ends[1], value);
  });
  const double least = -greatest(grid_.comm(), ends[0]), most = greatest(grid_.comm(), ends[1]);
  const double scale = most > least ? 255 / (most - least) : 0;
  std::uint8_t* out = characters_[picture].data();
  for_cells([&](double value) {
    *out++ = static_cast<std::uint8_t>(std::lround((value - least) * scale));
  });
  const bool logarithms = picture < 2;
  return {static_cast<double>(gas.iteration),
          gas.time,
          least,
          most,
          logarithms ? 1.0 : 0.0,
          gas.grid.length()};
}

template <class Arrays>
Dumper::Views Dumper::views_of(const Arrays& arrays_of_file) const {
  Views views;
  for (const auto& array : arrays_of_file)
    views.push_back(dense<const std::byte>(array.data(), grid_.size()));
  return views;
}

void Dumper::write_file(const NewFile& made, const Header& header, const Views& views) {
  const bool at_once = !is_split() && settings_.hints.active_buffer_size == 0;
  const Stopwatch watch;
  Pending pending{FieldsFile::open(grid_.comm(), settings_.folder / made.name, made.mode, made.spec,
                                   settings_.hints),
                  {}};
  trace_.open.add(1, 0, watch.seconds());
  FieldsFile& file = pending.file;
  write_header(file, grid_, header);
  if (at_once) trace_.add_call(file.last_call());
  for (std::size_t a = 0; a < views.size(); ++a) {
    penstock::Field field = file[made.spec.fields[a + 1].name];
    const penstock::Part<penstock::WriteView> part{section_of(grid_), views[a]};
    if (is_split())
      pending.handles.push_back(field.write_begin(std::span(&part, 1), settings_.background));
    else field.write(std::span(&part, 1));
    if (at_once) trace_.add_call(file.last_call());
  }
  if (at_once) close(pending);
  else pending_.push_back(std::move(pending));
}

void Dumper::close(Pending& pending) {
  const Stopwatch closing;
  pending.file.close();
  trace_.close.add(1, 0, closing.seconds());
}

void Dumper::checkpoint(const Gas& gas) {
  const auto spec = spec_of<double, double>(grid_.cells(), array_names);
  auto file = FieldsFile::open(grid_.comm(), settings_.folder / "checkpoint.dat", Mode::replace,
                               spec, settings_.hints);
  write_header(file, grid_, header_of(gas));
  const Index3 n = grid_.size();
  for (int a = 0; a < arrays; ++a) {
    const Field& cells = gas.fields[a];  // in place: ghosts are between the cells
    constexpr auto real = static_cast<std::int64_t>(sizeof(double));
    const penstock::WriteView view{reinterpret_cast<const std::byte*>(cells.at(0, 0, 0)),
                                   {n[0], n[1], n[2]},
                                   {real, cells.stride(1) * real, cells.stride(2) * real},
                                   0,
                                   real};
    const penstock::Part<penstock::WriteView> part{section_of(grid_), view};
    file[array_names[a]].write(std::span(&part, 1));
  }
  file.close();
}

namespace {

/// Reads six arrays of T behind a header of as many reals of T.
template <class T>
void read_arrays(const fs::path& path, const penstock::Hints& hints, Gas& gas, Trace& trace) {
  const auto spec = spec_of<T, T>(gas.grid.cells(), array_names);
  const Stopwatch opening;
  auto file = FieldsFile::open(gas.grid.comm(), path, Mode::read, spec, hints);
  trace.open.add(1, 0, opening.seconds());
  const Header header = read_header(file, gas.grid);
  trace.add_call(file.last_call());
  const Index3 n = gas.grid.size();
  std::vector<T> values(static_cast<std::size_t>(product(n)));
  for (int a = 0; a < arrays; ++a) {
    const penstock::Part<penstock::ReadView> part{section_of(gas.grid),
                                                  dense<std::byte>(values.data(), n)};
    file[array_names[a]].read(std::span(&part, 1));
    trace.add_call(file.last_call());
    const std::vector<double> doubles(values.begin(), values.end());
    gas.fields[a].unpack(doubles.data());
  }
  const Stopwatch closing;
  file.close();
  trace.close.add(1, 0, closing.seconds());
  if (std::abs(header[5] / gas.grid.length() - 1) > 1e-6)
    throw Error(ErrorClass::format, path.string() + ": its box is " + std::to_string(header[5]) +
                                        " long, and not " + std::to_string(gas.grid.length()));
  gas.iteration = std::llround(header[0]);
  gas.time = header[1];
  gas.step = header[2];
  gas.physics.gamma = header[3];
  gas.physics.four_pi_g = header[4];
}

}  // namespace

void read_restart(const fs::path& path, const penstock::Hints& hints, Gas& gas, Trace& trace) {
  const Stopwatch watch;
  const Index3& cells = gas.grid.cells();
  const std::int64_t single = file_bytes(cells, arrays, sizeof(float), sizeof(float));
  const std::int64_t twice = file_bytes(cells, arrays, sizeof(double), sizeof(double));
  std::int64_t size = 0;
  on_rank_0(gas.grid.comm(), [&] { size = static_cast<std::int64_t>(fs::file_size(path)); });
  MPI_Bcast(&size, 1, MPI_INT64_T, 0, gas.grid.comm());
  if (size != single && size != twice)
    throw Error(ErrorClass::format,
                path.string() + " has " + std::to_string(size) + " bytes, and not " +
                    std::to_string(single) + " (single precision) or " + std::to_string(twice) +
                    " (double) as a restart file of " + std::to_string(cells[0]) + " x " +
                    std::to_string(cells[1]) + " x " + std::to_string(cells[2]) + " cells has");
  if (size == single) read_arrays<float>(path, hints, gas, trace);
  else read_arrays<double>(path, hints, gas, trace);
  trace.visible += watch.seconds();
}

}  // namespace jeans
