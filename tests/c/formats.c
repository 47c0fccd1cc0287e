/* Datasets of HDF5 and variables of netCDF-4 as a C program has them: its own libraries read what
   all ranks wrote. */
#include <penstock/netcdf.h>

#include "checks.h"

enum { rows = 12, columns = 10 };

static double value_at(int64_t row, int64_t column) {
  return (double)(row * 100 + column);
}

/* Every rank writes its block, and reads it back. */
static void move_blocks(penstock_file* file) {
  const int64_t shape[2] = {rows, columns};
  penstock_share mine;
  double local[rows * columns], got[rows * columns];
  int64_t i = 0;
  EXPECT_OK(penstock_distribute(2, shape, "block,block", NULL, NULL, ranks, rank, &mine));
  for (int64_t row = mine.section[0].lower; row < mine.section[0].upper; ++row)
    for (int64_t column = mine.section[1].lower; column < mine.section[1].upper; ++column)
      local[i++] = value_at(row, column);
  EXPECT_OK(penstock_write(file, mine.section, local));
  EXPECT_OK(penstock_read(file, mine.section, got));
  EXPECT(memcmp(local, got, (size_t)i * sizeof *got) == 0);
}

static void expect_all(const double* values) {
  int wrong = 0;
  for (int i = 0; i < rows * columns; ++i) wrong += values[i] != value_at(i / columns, i % columns);
  EXPECT(wrong == 0);
}

static void read_with_hdf5(const char* path, const char* name) {
  double values[rows * columns];
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  EXPECT(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  expect_all(values);
  H5Dclose(dataset);
  H5Fclose(file);
}

static void test_hdf5(void) {
  const penstock_hdf5_dataset u = {"/run/1/u", H5T_IEEE_F64LE, 2, {rows, columns}};
  const penstock_hdf5_dataset v = {"/run/v", H5T_NATIVE_DOUBLE, 2, {rows, columns}};
  const penstock_hdf5_dataset named = {"/run/1/u", 0, 0, {0}};
  const char* const path = file_name("t.h5");
  penstock_file* file = NULL;
  for (int again = 0; again < 2; ++again) {
    EXPECT_OK(penstock_hdf5_open(MPI_COMM_WORLD, path, "w", &u, &file));
    move_blocks(file);
    EXPECT_OK(penstock_close(&file));
    EXPECT_OK(penstock_hdf5_open(MPI_COMM_WORLD, path, "r+", &v, &file));
    move_blocks(file);
    EXPECT_OK(penstock_close(&file));
  }
  EXPECT_OK(penstock_hdf5_open(MPI_COMM_WORLD, path, "r+", &named, &file));
  move_blocks(file);
  EXPECT_OK(penstock_close(&file));
  EXPECT_OK(penstock_hdf5_open(MPI_COMM_WORLD, path, "r", &named, &file));
  EXPECT_OK(penstock_close(&file));
  if (rank == 0) read_with_hdf5(path, "/run/1/u");
  if (rank == 0) read_with_hdf5(path, "/run/v");
}

static void refuse(const char* path, const char* mode, const penstock_hdf5_dataset* dataset,
                   const char* words) {
  penstock_file* file = NULL;
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT,
              penstock_hdf5_open(MPI_COMM_WORLD, path, mode, dataset, &file));
  EXPECT(file == NULL);
  EXPECT_WORDS(words);
}

/* On rank 0. */
static void make_chunked(const char* path) {
  const hsize_t extents[2] = {rows, columns}, chunk[2] = {5, 5};
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(2, extents, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(how, 2, chunk);
  H5Dclose(H5Dcreate2(file, "chunked", H5T_IEEE_F64LE, space, H5P_DEFAULT, how, H5P_DEFAULT));
  H5Pclose(how);
  H5Sclose(space);
  H5Fclose(file);
}

static void test_refusals(void) {
  const penstock_hdf5_dataset missing = {"/nowhere/x", 0, 0, {0}};
  const penstock_hdf5_dataset other_shape = {"/run/v", 0, 2, {columns, rows}};
  const penstock_hdf5_dataset other_type = {"/run/v", H5T_STD_I32LE, 0, {0}};
  const penstock_hdf5_dataset chunked = {"/chunked", 0, 0, {0}};
  const char* const path = file_name("t.h5");
  FILE* text = NULL;
  if (rank == 0) make_chunked(path);
  MPI_Barrier(MPI_COMM_WORLD);
  refuse(path, "r", &missing, "/nowhere/x");
  refuse(path, "r+", &other_shape, "another shape");
  refuse(path, "r", &other_type, "another type");
  refuse(path, "r", &chunked, "not one after the other");
  refuse(path, "w", &missing, "are needed to make");
  if (rank == 0) read_with_hdf5(path, "/run/1/u"); /* as it was */
  if (rank == 0 && (text = fopen("text.h5", "w")) != NULL) {
    fputs("no HDF5", text);
    fclose(text);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  refuse("text.h5", "r", &missing, "HDF5 cannot open it");
  refuse("text.h5", "r+", &missing, "HDF5 cannot open it");
  refuse("not-there.h5", "r", &missing, "not-there.h5");
  if (rank == 0) remove("text.h5");
}

static void test_netcdf(void) {
  const penstock_netcdf_variable u = {"u", NC_DOUBLE, 2, {rows, columns}, {"y", "x"}, "K"};
  const penstock_netcdf_variable v = {"v", NC_DOUBLE, 2, {rows, columns}, {"y", "x"}, NULL};
  const penstock_netcdf_variable w = {"w", NC_DOUBLE, 2, {rows, 3}, {"y", "x"}, NULL};
  const char* const path = file_name("t.nc");
  double values[rows * columns];
  char units[2] = "";
  penstock_file* file = NULL;
  int nc = 0, id = 0;
  EXPECT_OK(penstock_netcdf_open(MPI_COMM_WORLD, path, "w", &u, &file));
  move_blocks(file);
  EXPECT_OK(penstock_close(&file));
  EXPECT_OK(penstock_netcdf_open(MPI_COMM_WORLD, path, "r+", &v, &file));
  move_blocks(file);
  EXPECT_OK(penstock_close(&file));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_netcdf_open(MPI_COMM_WORLD, path, "r+", &w, &file));
  EXPECT_WORDS("of name w");
  EXPECT_OK(penstock_netcdf_open(MPI_COMM_WORLD, path, "r", &v, &file));
  EXPECT_OK(penstock_close(&file));
  if (rank != 0) return;
  EXPECT(nc_open(path, NC_NOWRITE, &nc) == NC_NOERR);
  for (int i = 0; i < 2; ++i) {
    EXPECT(nc_inq_varid(nc, i ? "v" : "u", &id) == NC_NOERR);
    EXPECT(nc_get_var_double(nc, id, values) == NC_NOERR);
    expect_all(values);
  }
  EXPECT(nc_inq_varid(nc, "w", &id) == NC_ENOTVAR);
  EXPECT(nc_inq_varid(nc, "u", &id) == NC_NOERR);
  EXPECT(nc_get_att_text(nc, id, "units", units) == NC_NOERR && units[0] == 'K');
  nc_close(nc);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  test_hdf5();
  test_refusals();
  test_netcdf();
  return finish();
}
