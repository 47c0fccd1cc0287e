// The same field in five formats, written by all ranks: raw, .npy, HDF5, netCDF-4 and Zarr.
#include <penstock/netcdf.h>

#include <cstdio>
#include <penstock/penstock.hpp>
#include <string>
#include <vector>

namespace {

using penstock::ArrayFile;
using penstock::ArraySpec;
using penstock::Mode;
using penstock::Section;

constexpr std::int64_t rows = 64, columns = 48;

// One rank's block of the field, with 1000 * y + x at (y, x).
struct Block {
  Section section;
  std::vector<double> u;

  Block(int ranks, int rank)
      : section(penstock::Distribution({rows, columns}, ranks, {{}, {}}).share(rank).section) {
    const auto& y = std::get<penstock::Range>(section.dimensions()[0]);
    const auto& x = std::get<penstock::Range>(section.dimensions()[1]);
    for (std::int64_t i = y.lower; i < y.upper; ++i)
      for (std::int64_t j = x.lower; j < x.upper; ++j) u.push_back(1000.0 * double(i) + double(j));
  }
};

void write(const Block& block, const std::string& path, const ArraySpec& spec,
           const std::string& attributes) {
  auto file = ArrayFile::open(MPI_COMM_WORLD, path, Mode::create, spec);
  file.write(block.u, block.section);  // collective
  if (!attributes.empty()) file.set_attributes(attributes);
  file.close();
}

// HDF5 and netCDF-4: their libraries make the dataset, and return its offset.
void write_bytes(const Block& block, int code, penstock_file* file) {
  std::vector<penstock_range> ranges;
  for (const auto& indices : block.section.dimensions()) {
    const auto& range = std::get<penstock::Range>(indices);
    ranges.push_back({range.lower, range.upper, range.stride, range.block});
  }
  if (code == PENSTOCK_SUCCESS) code = penstock_write(file, ranges.data(), block.u.data());
  if (code == PENSTOCK_SUCCESS) code = penstock_close(&file);
  if (code == PENSTOCK_SUCCESS) return;
  std::fprintf(stderr, "%s error: %s\n", penstock_error_name(code), penstock_error_text());
  MPI_Abort(MPI_COMM_WORLD, 1);  // all ranks are here with the same error
}

// By HDF5 itself, on one rank, after Penstock has closed the file.
void set_units(const char* path, const char* name) {
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t data = H5Dopen2(file, name, H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, 1);
  const hid_t units = H5Acreate2(data, "units", type, space, H5P_DEFAULT, H5P_DEFAULT);
  if (H5Awrite(units, type, "K") < 0) MPI_Abort(MPI_COMM_WORLD, 1);
  H5Aclose(units);
  H5Tclose(type);
  H5Sclose(space);
  H5Dclose(data);
  H5Fclose(file);
}

void write_all(const Block& block, int rank) {
  const ArraySpec spec{.shape = {rows, columns}, .element_size = 8, .dtype = "<f8"};
  write(block, "u.raw", spec, "");
  write(block, "u.npy", spec, R"({"dims": ["y", "x"], "units": "K"})");

  penstock_file* file = nullptr;
  const penstock_hdf5_dataset dataset{"/run/u", H5T_IEEE_F64LE, 2, {rows, columns}};
  int code = penstock_hdf5_open(MPI_COMM_WORLD, "u.h5", "w", &dataset, &file);
  write_bytes(block, code, file);
  if (rank == 0) set_units("u.h5", "/run/u");

  const penstock_netcdf_variable variable{"u", NC_DOUBLE, 2, {rows, columns}, {"y", "x"}, "K"};
  code = penstock_netcdf_open(MPI_COMM_WORLD, "u.nc", "w", &variable, &file);
  write_bytes(block, code, file);

  ArraySpec chunked = spec;
  chunked.chunks = {.chunks = {32, 16}, .compressors = "zstd:3", .dimension_names = {"y", "x"}};
  write(block, "u.zarr/u", chunked, R"({"units": "K"})");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  write_all(Block(ranks, rank), rank);
  MPI_Finalize();
}
