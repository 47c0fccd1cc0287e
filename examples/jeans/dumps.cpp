#include "dumps.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>

#include "reduce.hpp"

namespace jeans {
namespace {

namespace fs = std::filesystem;
using penstock::ArrayFile;
using penstock::Error;
using penstock::ErrorClass;
using penstock::Mode;
using Header = std::array<double, header_reals>;

constexpr std::array<const char*, pictures> picture_names{"density", "pressure", "speed",
                                                          "potential"};

std::int64_t file_bytes(const Index3& cells, std::int64_t arrays_in_it, std::int64_t real,
                        std::int64_t element) {
  return header_reals * real + arrays_in_it * element * product(cells);
}

/// Arrays of one file are one array with a last dimension more, behind the header.
penstock::ArraySpec spec_of(const Index3& cells, std::int64_t arrays_in_it, std::int64_t real,
                            std::int64_t element) {
  penstock::ArraySpec spec;
  spec.shape = {cells[0], cells[1], cells[2], arrays_in_it};
  spec.element_size = element;
  spec.order = penstock::Order::fortran;
  spec.offset = header_reals * real;
  spec.container = penstock::Container::raw;
  return spec;
}

penstock::Section section_of(const Grid& grid, std::int64_t array) {
  const Index3 from = grid.lower(), n = grid.size();
  return {{from[0], from[0] + n[0]},
          {from[1], from[1] + n[1]},
          {from[2], from[2] + n[2]},
          {array, array + 1}};
}

/// Of a rank's cells in an array that is the `number`-th of its file; x runs fastest.
template <class Byte, class T>
penstock::MemoryView<Byte> dense(T* data, const Index3& n) {
  return {reinterpret_cast<Byte*>(data),
          {},
          {},
          static_cast<std::size_t>(product(n)) * sizeof(T),
          sizeof(T)};
}

/// Collective: what rank 0 does alone. If it fails, all ranks throw its error.
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

/// By this process alone: the header is written, or read, in one call. `hints`: of the file.
template <class Real>
void move_header(const fs::path& path, bool reading, const penstock::Hints& of_file, Header& header,
                 Trace& trace) {
  penstock::ArraySpec spec;
  spec.shape = {header_reals};
  spec.element_size = sizeof(Real);
  spec.container = penstock::Container::raw;
  penstock::Hints hints;
  hints.active_buffer_size = 0;
  hints.storage = of_file.storage;
  hints.device = of_file.device;
  const Stopwatch watch;
  ArrayFile file =
      ArrayFile::open(MPI_COMM_SELF, path, reading ? Mode::read : Mode::read_write, spec, hints);
  trace.header_open.add(1, 0, watch.seconds());
  std::vector<Real> reals(header.begin(), header.end());
  const penstock::Section all = penstock::Section::all(spec.shape);
  if (reading) file.read(reals, all);
  else file.write(reals, all);
  trace.add_call(file.last_call());
  file.close();
  std::copy(reals.begin(), reals.end(), header.begin());
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
  finish();  // the memory of the last one is needed
  convert(gas);
  std::array<Header, pictures> headers;
  for (int p = 0; p < pictures; ++p) headers[p] = draw(gas, p);

  const Stopwatch watch;
  write_file<float>(settings_.folder / numbered("analysis", gas.iteration), false, header_of(gas),
                    numbers_);
  write_file<float>(settings_.folder / "restart.dat", true, header_of(gas), numbers_);
  for (int p = 0; p < pictures; ++p)
    write_file<std::uint8_t>(settings_.folder / numbered(picture_names[p], gas.iteration), false,
                             headers[p], std::span(&characters_[p], 1));
  if (settings_.checkpoint) checkpoint(gas);
  trace_.visible += watch.seconds();
  ++trace_.dumps;
}

void Dumper::finish() {
  const Stopwatch watch;
  for (Pending& pending : pending_) {
    for (auto& handle : pending.handles) handle.wait();
    const Stopwatch closing;
    if (!pending.closing) {
      trace_.add(pending.file.statistics());
      pending.file.close();
      trace_.close.add(1, 0, closing.seconds());
    }
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

template <class T, class Arrays>
void Dumper::write_file(const fs::path& path, bool in_place, const Header& header,
                        const Arrays& arrays_of_it) {
  const auto spec = spec_of(grid_.cells(), static_cast<std::int64_t>(arrays_of_it.size()),
                            sizeof(float), sizeof(T));
  int exists = 0;
  on_rank_0(grid_.comm(), [&] { exists = in_place && fs::exists(path) ? 1 : 0; });
  MPI_Bcast(&exists, 1, MPI_INT, 0, grid_.comm());
  const Stopwatch watch;
  auto file = ArrayFile::open(grid_.comm(), path, exists != 0 ? Mode::read_write : Mode::create,
                              spec, settings_.hints);
  trace_.open.add(1, 0, watch.seconds());
  if (exists != 0 && file.file_size() != file.end_offset()) file.truncate(file.end_offset());
  on_rank_0(grid_.comm(), [&] {
    Header reals = header;
    move_header<float>(path, false, settings_.hints, reals, trace_);
  });
  std::vector<penstock::WriteView> views;
  for (const auto& array : arrays_of_it)
    views.push_back(dense<const std::byte>(array.data(), grid_.size()));
  write_arrays(std::move(file), views);
}

void Dumper::write_arrays(ArrayFile file, const std::vector<penstock::WriteView>& views) {
  Pending pending{std::move(file), {}, false};
  const bool buffered = settings_.hints.active_buffer_size > 0;
  for (std::size_t a = 0; a < views.size(); ++a) {
    const penstock::Part<penstock::WriteView> part{section_of(grid_, static_cast<std::int64_t>(a)),
                                                   views[a]};
    if (is_split()) {
      pending.handles.push_back(
          pending.file.write_begin(std::span(&part, 1), settings_.background));
    } else {
      pending.file.write(std::span(&part, 1));
      if (!buffered) trace_.add_call(pending.file.last_call());
    }
  }
  if (!is_split() && !buffered) {
    const Stopwatch closing;
    pending.file.close();
    trace_.close.add(1, 0, closing.seconds());
    return;
  }
  pending_.push_back(std::move(pending));
}

void Dumper::checkpoint(const Gas& gas) {
  const fs::path path = settings_.folder / "checkpoint.dat",
                 unfinished = settings_.folder / "checkpoint.new";
  const auto spec = spec_of(grid_.cells(), arrays, sizeof(double), sizeof(double));
  auto file = ArrayFile::open(grid_.comm(), unfinished, Mode::create, spec, settings_.hints);
  on_rank_0(grid_.comm(), [&] {
    Header reals = header_of(gas);
    Trace not_of_the_paper;
    move_header<double>(unfinished, false, settings_.hints, reals, not_of_the_paper);
  });
  const Index3 n = grid_.size();
  for (int a = 0; a < arrays; ++a) {
    const Field& field = gas.fields[a];  // in place: ghosts are between the cells
    constexpr auto real = static_cast<std::int64_t>(sizeof(double));
    const penstock::WriteView view{reinterpret_cast<const std::byte*>(field.at(0, 0, 0)),
                                   {n[0], n[1], n[2], 1},
                                   {real, field.stride(1) * real, field.stride(2) * real, real},
                                   0,
                                   real};
    const penstock::Part<penstock::WriteView> part{section_of(grid_, a), view};
    file.write(std::span(&part, 1));
  }
  file.sync();
  file.close();
  on_rank_0(grid_.comm(), [&] { fs::rename(unfinished, path); });
}

namespace {

/// Reads six arrays of T behind a header of as many reals of T.
template <class T>
void read_arrays(const fs::path& path, const penstock::Hints& hints, Gas& gas, Trace& trace) {
  const auto spec = spec_of(gas.grid.cells(), arrays, sizeof(T), sizeof(T));
  const Stopwatch opening;
  auto file = ArrayFile::open(gas.grid.comm(), path, Mode::read, spec, hints);
  trace.open.add(1, 0, opening.seconds());
  Header header{};
  on_rank_0(gas.grid.comm(), [&] { move_header<T>(path, true, hints, header, trace); });
  MPI_Bcast(header.data(), header_reals, MPI_DOUBLE, 0, gas.grid.comm());
  const Index3 n = gas.grid.size();
  std::vector<T> values(static_cast<std::size_t>(product(n)));
  for (int a = 0; a < arrays; ++a) {
    const penstock::Part<penstock::ReadView> part{section_of(gas.grid, a),
                                                  dense<std::byte>(values.data(), n)};
    file.read(std::span(&part, 1));
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
