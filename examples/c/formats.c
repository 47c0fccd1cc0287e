/* The same field in five formats, written by all ranks: raw, .npy, HDF5, netCDF-4 and Zarr. */
#include <penstock/netcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 64, COLUMNS = 48 };

/* Ends the program if a call has failed: all ranks get the same error. */
static void check(int code) {
  if (code == PENSTOCK_SUCCESS) return;
  fprintf(stderr, "%s error: %s\n", penstock_error_name(code), penstock_error_text());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* This rank's block, where 1000 * y + x is at (y, x). */
static double* block_of(const penstock_range* mine) {
  const int64_t rows = mine[0].upper - mine[0].lower, columns = mine[1].upper - mine[1].lower;
  double* u = malloc((size_t)(rows * columns) * sizeof *u);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      u[i * columns + j] = 1000.0 * (double)(mine[0].lower + i) + (double)(mine[1].lower + j);
  return u;
}

static void write_and_close(penstock_file* file, const penstock_range* mine, const double* u) {
  check(penstock_write(file, mine, u)); /* collective */
  check(penstock_close(&file));
}

/* By HDF5 itself, on one rank, once Penstock has closed the file. */
static void set_units(const char* path, const char* name) {
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

int main(int argc, char** argv) {
  const char* const names[2] = {"y", "x"};
  const penstock_chunks chunks = {.chunks = {32, 16}, .compressors = "zstd:3",
                                  .dimension_names = names, .attributes = "{\"units\": \"K\"}"};
  penstock_array array = {.dimensions = 2, .shape = {ROWS, COLUMNS}, .dtype = "<f8"};
  const penstock_hdf5_dataset dataset = {"/run/u", H5T_IEEE_F64LE, 2, {ROWS, COLUMNS}};
  const penstock_netcdf_variable variable = {"u", NC_DOUBLE, 2, {ROWS, COLUMNS}, {"y", "x"}, "K"};
  penstock_file* file = NULL;
  penstock_share mine;
  int rank = 0, ranks = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  check(penstock_distribute(2, array.shape, "block,block", NULL, NULL, ranks, rank, &mine));
  double* u = block_of(mine.section);

  check(penstock_open(MPI_COMM_WORLD, "u.raw", "w", &array, NULL, &file));
  write_and_close(file, mine.section, u);
  check(penstock_open(MPI_COMM_WORLD, "u.npy", "w", &array, NULL, &file));
  check(penstock_set_attributes(file, "{\"dims\": [\"y\", \"x\"], \"units\": \"K\"}"));
  write_and_close(file, mine.section, u);
  check(penstock_hdf5_open(MPI_COMM_WORLD, "u.h5", "w", &dataset, &file));
  write_and_close(file, mine.section, u);
  if (rank == 0) set_units("u.h5", "/run/u");
  check(penstock_netcdf_open(MPI_COMM_WORLD, "u.nc", "w", &variable, &file));
  write_and_close(file, mine.section, u);
  array.chunks = &chunks;
  check(penstock_open(MPI_COMM_WORLD, "u.zarr/u", "w", &array, NULL, &file));
  write_and_close(file, mine.section, u);
  free(u);
  MPI_Finalize();
  return 0;
}
