/* Writes an HDF5 file with all ranks, collectively and independently, and reads it back in another division. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { rows = 61, columns = 44 };

static int rank, ranks;

#define CHECK(call) check((long long)(call), #call, __LINE__)
static hid_t check(long long result, const char* call, int line) {
  if (result >= 0) return (hid_t)result;
  fprintf(stderr, "rank %d, line %d: %s failed\n", rank, line, call);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return -1;
}

static double value_at(hsize_t row, hsize_t column) { return (double)(row * 1000 + column); }

static hsize_t begin_of(hsize_t length, int part) { return length * part / ranks; }

/* Rows begin, begin + step, ... of the columns from first on. */
typedef struct {
  hsize_t begin, step, count, first, width;
} Part;

static long long transfer(hid_t set, Part part, H5FD_mpio_xfer_t mode, int writes) {
  static double values[rows * columns];
  long long wrong = 0;
  const hid_t space = CHECK(H5Dget_space(set)), how = CHECK(H5Pcreate(H5P_DATASET_XFER));
  const hsize_t start[] = {part.begin, part.first}, stride[] = {part.step, 1}, count[] = {part.count, part.width};
  const hid_t memory = CHECK(H5Screate_simple(2, count, NULL));
  if (part.count * part.width == 0) {
    CHECK(H5Sselect_none(space));
    CHECK(H5Sselect_none(memory));
  } else {
    CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL));
  }
  CHECK(H5Pset_dxpl_mpio(how, mode));
  for (hsize_t i = 0; i < part.count * part.width; ++i)
    values[i] = writes ? value_at(part.begin + i / part.width * part.step, part.first + i % part.width) : -1;
  if (writes) CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, how, values));
  else CHECK(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, how, values));
  for (hsize_t i = 0; i < part.count * part.width; ++i)
    wrong += values[i] != value_at(part.begin + i / part.width * part.step, part.first + i % part.width);
  H5Pclose(how);
  H5Sclose(memory);
  H5Sclose(space);
  return wrong;
}

static void write_set(hid_t file, const char* name, hid_t type, int chunked, Part part, H5FD_mpio_xfer_t mode) {
  const hsize_t shape[] = {rows, columns}, chunk[] = {16, 10};
  const hid_t space = CHECK(H5Screate_simple(2, shape, NULL)), how = CHECK(H5Pcreate(H5P_DATASET_CREATE));
  /* The time at which it was made would differ from file to file. */
  CHECK(H5Pset_obj_track_times(how, 0));
  if (chunked) CHECK(H5Pset_chunk(how, 2, chunk));
  const hid_t set = CHECK(H5Dcreate2(file, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT));
  transfer(set, part, mode, 1);
  CHECK(H5Dclose(set));
  H5Pclose(how);
  H5Sclose(space);
}

static long long read_set(hid_t file, const char* name, Part part, H5FD_mpio_xfer_t mode) {
  const hid_t set = CHECK(H5Dopen2(file, name, H5P_DEFAULT));
  const long long wrong = transfer(set, part, mode, 0);
  CHECK(H5Dclose(set));
  return wrong;
}

static Part block_of_rows(int part) {
  const hsize_t begin = begin_of(rows, part);
  return (Part){begin, 1, begin_of(rows, part + 1) - begin, 0, columns};
}

int main(int argc, char** argv) {
  const char* const names[] = {"columns", "cyclic", "rows", "chunked"};
  long long wrong = 0, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const hid_t access = CHECK(H5Pcreate(H5P_FILE_ACCESS));
  CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
  hid_t file = CHECK(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access));
  const hsize_t first = begin_of(columns, rank);
  const Part columns_of_rank = {0, 1, rows, first, begin_of(columns, rank + 1) - first};
  const Part cyclic = {(hsize_t)rank, (hsize_t)ranks, (hsize_t)((rows - rank + ranks - 1) / ranks), 0, columns};
  write_set(file, names[0], H5T_IEEE_F64LE, 0, columns_of_rank, H5FD_MPIO_COLLECTIVE);
  write_set(file, names[1], H5T_IEEE_F64LE, 0, cyclic, H5FD_MPIO_INDEPENDENT);
  write_set(file, names[2], H5T_STD_I32BE, 0, block_of_rows(rank), H5FD_MPIO_COLLECTIVE);
  write_set(file, names[3], H5T_IEEE_F64LE, 1, columns_of_rank, H5FD_MPIO_COLLECTIVE);
  CHECK(H5Fclose(file));
  file = CHECK(H5Fopen(argv[1], H5F_ACC_RDONLY, access));
  for (int i = 0; i < 4; ++i) {
    wrong += read_set(file, names[i], block_of_rows(ranks - 1 - rank), H5FD_MPIO_COLLECTIVE);
    wrong += read_set(file, names[i], cyclic, H5FD_MPIO_INDEPENDENT);
  }
  CHECK(H5Fclose(file));
  H5Pclose(access);
  MPI_Allreduce(&wrong, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%lld values are wrong\n", all);
  MPI_Finalize();
  return all != 0;
}
