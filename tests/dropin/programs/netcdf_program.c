/* Writes a netCDF file with all ranks, collectively and independently, and reads it back in another division. */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>

enum { steps = 3, rows = 37, columns = 50 };

static int rank, ranks;

#define CHECK(call) check(call, #call, __LINE__)
static void check(int code, const char* call, int line) {
  if (code == NC_NOERR) return;
  fprintf(stderr, "rank %d, line %d: %s: %s\n", rank, line, call, nc_strerror(code));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static float value_at(size_t step, size_t row, size_t column) {
  return (float)(step * 10000 + row * 100 + column);
}

static size_t begin_of(size_t length, int part) { return length * part / ranks; }

static void define(int file, int* field, int* cyclic, int* packed) {
  int ids[3];
  CHECK(nc_def_dim(file, "step", NC_UNLIMITED, &ids[0]));
  CHECK(nc_def_dim(file, "row", rows, &ids[1]));
  CHECK(nc_def_dim(file, "column", columns, &ids[2]));
  CHECK(nc_def_var(file, "field", NC_FLOAT, 3, ids, field));
  CHECK(nc_def_var(file, "cyclic", NC_INT, 2, ids + 1, cyclic));
  CHECK(nc_def_var(file, "packed", NC_FLOAT, 2, ids + 1, packed));
  CHECK(nc_put_att_text(file, *field, "units", 1, "K"));
  CHECK(nc_def_var_deflate(file, *packed, 1, 1, 3));
  CHECK(nc_enddef(file));
}

static void write_field(int file, int field, int packed) {
  float values[rows * columns];
  const size_t begin = begin_of(columns, rank), count = begin_of(columns, rank + 1) - begin;
  for (size_t step = 0; step < steps; ++step) {
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < count; ++c) values[r * count + c] = value_at(step, r, begin + c);
    CHECK(nc_put_vara_float(file, field, (size_t[]){step, 0, begin}, (size_t[]){1, rows, count}, values));
  }
  CHECK(nc_put_vara_float(file, packed, (size_t[]){0, begin}, (size_t[]){rows, count}, values));
}

static void write_cyclic(int file, int cyclic) {
  int values[rows * columns];
  const size_t count = (rows - rank + ranks - 1) / ranks;
  for (size_t r = 0; r < count; ++r)
    for (size_t c = 0; c < columns; ++c)
      values[r * columns + c] = (int)value_at(7, rank + r * ranks, c);
  CHECK(nc_put_vars_int(file, cyclic, (size_t[]){(size_t)rank, 0}, (size_t[]){count, columns},
                        (ptrdiff_t[]){ranks, 1}, values));
}

static long long wrong_values(int file, int access) {
  int field, cyclic, packed;
  long long wrong = 0;
  float values[rows * columns];
  int whole[rows * columns];
  const int other = ranks - 1 - rank;
  const size_t begin = begin_of(rows, other), count = begin_of(rows, other + 1) - begin;
  CHECK(nc_inq_varid(file, "field", &field));
  CHECK(nc_inq_varid(file, "cyclic", &cyclic));
  CHECK(nc_inq_varid(file, "packed", &packed));
  CHECK(nc_var_par_access(file, field, access));
  CHECK(nc_var_par_access(file, cyclic, access));
  for (size_t step = 0; step < steps; ++step) {
    CHECK(nc_get_vara_float(file, field, (size_t[]){step, begin, 0}, (size_t[]){1, count, columns}, values));
    for (size_t i = 0; i < count * columns; ++i)
      wrong += values[i] != value_at(step, begin + i / columns, i % columns);
  }
  CHECK(nc_get_var_int(file, cyclic, whole));
  for (size_t i = 0; i < rows * columns; ++i)
    wrong += whole[i] != (int)value_at(7, i / columns, i % columns);
  CHECK(nc_var_par_access(file, packed, NC_COLLECTIVE));
  CHECK(nc_get_vara_float(file, packed, (size_t[]){begin, 0}, (size_t[]){count, columns}, values));
  for (size_t i = 0; i < count * columns; ++i)
    wrong += values[i] != value_at(steps - 1, begin + i / columns, i % columns);
  return wrong;
}

int main(int argc, char** argv) {
  int file, field, cyclic, packed;
  long long wrong = 0, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(nc_create_par(argv[1], NC_CLOBBER | NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
  define(file, &field, &cyclic, &packed);
  CHECK(nc_var_par_access(file, field, NC_COLLECTIVE));
  CHECK(nc_var_par_access(file, packed, NC_COLLECTIVE));
  write_field(file, field, packed);
  CHECK(nc_var_par_access(file, cyclic, NC_INDEPENDENT));
  write_cyclic(file, cyclic);
  CHECK(nc_close(file));
  CHECK(nc_open_par(argv[1], NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
  wrong += wrong_values(file, NC_COLLECTIVE);
  wrong += wrong_values(file, NC_INDEPENDENT);
  CHECK(nc_close(file));
  MPI_Allreduce(&wrong, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%lld values are wrong\n", all);
  MPI_Finalize();
  return all != 0;
}
