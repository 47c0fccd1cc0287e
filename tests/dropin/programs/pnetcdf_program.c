/* Writes a PnetCDF file with all ranks: collectively, independently, with memory of another layout, and requests that are joined;
 * and reads it back in another division.
 *   pnetcdf_program FILE FORMAT     FORMAT: 1, 2 or 5, of the classic netCDF formats */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { steps = 3, rows = 33, columns = 48 };

static int rank, ranks;

typedef struct {
  int field, cyclic, turned, pieces, log;
} Variables;

#define CHECK(call) check(call, #call, __LINE__)
static void check(int code, const char* call, int line) {
  if (code == NC_NOERR) return;
  fprintf(stderr, "rank %d, line %d: %s: %s\n", rank, line, call, ncmpi_strerror(code));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double value_at(MPI_Offset step, MPI_Offset row, MPI_Offset column) {
  return (double)(step * 10000 + row * 100 + column);
}

static MPI_Offset begin_of(MPI_Offset length, int part) { return length * part / ranks; }

static void define(int file, Variables* v) {
  int ids[3];
  CHECK(ncmpi_def_dim(file, "step", NC_UNLIMITED, &ids[0]));
  CHECK(ncmpi_def_dim(file, "row", rows, &ids[1]));
  CHECK(ncmpi_def_dim(file, "column", columns, &ids[2]));
  CHECK(ncmpi_def_var(file, "field", NC_DOUBLE, 3, ids, &v->field));
  CHECK(ncmpi_def_var(file, "log", NC_SHORT, 1, ids, &v->log));
  CHECK(ncmpi_def_var(file, "cyclic", NC_INT, 2, ids + 1, &v->cyclic));
  CHECK(ncmpi_def_var(file, "turned", NC_FLOAT, 2, ids + 1, &v->turned));
  CHECK(ncmpi_def_var(file, "pieces", NC_DOUBLE, 2, ids + 1, &v->pieces));
  CHECK(ncmpi_put_att_text(file, v->field, "units", 1, "K"));
  CHECK(ncmpi_def_var_fill(file, v->pieces, 0, NULL));
  CHECK(ncmpi_enddef(file));
}

/* Collective, each rank a block of columns, step by step; the log beside it makes records of two variables. */
static void write_field(int file, const Variables* v) {
  double values[rows * columns];
  const MPI_Offset begin = begin_of(columns, rank), count = begin_of(columns, rank + 1) - begin;
  for (MPI_Offset step = 0; step < steps; ++step) {
    for (MPI_Offset r = 0; r < rows; ++r)
      for (MPI_Offset c = 0; c < count; ++c) values[r * count + c] = value_at(step, r, begin + c);
    CHECK(ncmpi_put_vara_double_all(file, v->field, (MPI_Offset[]){step, 0, begin},
                                    (MPI_Offset[]){1, rows, count}, values));
    const short entry = (short)(step + 1);
    CHECK(ncmpi_put_vara_short_all(file, v->log, (MPI_Offset[]){step}, (MPI_Offset[]){rank == 0}, &entry));
  }
}

/* Independent, each rank every ranks-th row. */
static void write_cyclic(int file, const Variables* v) {
  int values[rows * columns];
  const MPI_Offset count = (rows - rank + ranks - 1) / ranks;
  for (MPI_Offset i = 0; i < count * columns; ++i)
    values[i] = (int)value_at(7, rank + i / columns * ranks, i % columns);
  CHECK(ncmpi_begin_indep_data(file));
  CHECK(ncmpi_put_vars_int(file, v->cyclic, (MPI_Offset[]){rank, 0}, (MPI_Offset[]){count, columns},
                           (MPI_Offset[]){ranks, 1}, values));
  CHECK(ncmpi_end_indep_data(file));
}

/* Memory has the rows one after the other where the file has the columns. */
static void write_turned(int file, const Variables* v) {
  float values[rows * columns];
  const MPI_Offset begin = begin_of(rows, rank), count = begin_of(rows, rank + 1) - begin;
  for (MPI_Offset r = 0; r < count; ++r)
    for (MPI_Offset c = 0; c < columns; ++c) values[c * count + r] = (float)value_at(0, begin + r, c);
  CHECK(ncmpi_put_varm_float_all(file, v->turned, (MPI_Offset[]){begin, 0}, (MPI_Offset[]){count, columns}, NULL,
                                 (MPI_Offset[]){1, count}, values));
}

/* One request for each row, completed together. */
static void write_pieces(int file, const Variables* v) {
  static double values[rows * columns];
  int requests[rows], statuses[rows], count = 0;
  for (MPI_Offset r = rank; r < rows; r += ranks) {
    double* const row = values + r * columns;
    for (MPI_Offset c = 0; c < columns; ++c) row[c] = value_at(3, r, c);
    CHECK(ncmpi_iput_vara_double(file, v->pieces, (MPI_Offset[]){r, 0}, (MPI_Offset[]){1, columns}, row,
                                 &requests[count++]));
  }
  CHECK(ncmpi_wait_all(file, count, requests, statuses));
  for (int i = 0; i < count; ++i) CHECK(statuses[i]);
}

/* Extends the header: everything after it is moved. */
static void grow_header(int file, const Variables* v) {
  char text[3000];
  for (int i = 0; i < 3000; ++i) text[i] = (char)('a' + i % 26);
  CHECK(ncmpi_redef(file));
  CHECK(ncmpi_put_att_text(file, v->field, "history", sizeof text, text));
  CHECK(ncmpi_enddef(file));
}

static long long differences(const double* values, MPI_Offset step, MPI_Offset row, MPI_Offset count) {
  long long wrong = 0;
  for (MPI_Offset i = 0; i < count * columns; ++i)
    wrong += values[i] != value_at(step, row + i / columns, i % columns);
  return wrong;
}

static long long wrong_values(int file, const Variables* v) {
  double values[rows * columns];
  long long wrong = 0;
  const int other = ranks - 1 - rank;
  const MPI_Offset begin = begin_of(rows, other), count = begin_of(rows, other + 1) - begin;
  const MPI_Offset start[] = {begin, 0}, counts[] = {count, columns};
  for (MPI_Offset step = 0; step < steps; ++step) {
    CHECK(ncmpi_get_vara_double_all(file, v->field, (MPI_Offset[]){step, begin, 0},
                                    (MPI_Offset[]){1, count, columns}, values));
    wrong += differences(values, step, begin, count);
  }
  CHECK(ncmpi_get_vara_double_all(file, v->turned, start, counts, values));
  wrong += differences(values, 0, begin, count);
  CHECK(ncmpi_get_vara_double_all(file, v->pieces, start, counts, values));
  wrong += differences(values, 3, begin, count);
  CHECK(ncmpi_begin_indep_data(file));
  CHECK(ncmpi_get_var_double(file, v->cyclic, values));
  wrong += differences(values, 7, 0, rows);
  CHECK(ncmpi_end_indep_data(file));
  short entries[steps];
  CHECK(ncmpi_get_var_short_all(file, v->log, entries));
  for (int step = 0; step < steps; ++step) wrong += entries[step] != step + 1;
  return wrong;
}

int main(int argc, char** argv) {
  int file;
  Variables v;
  long long wrong = 0, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int number = atoi(argv[2]);
  const int format = number == 5 ? NC_64BIT_DATA : number == 2 ? NC_64BIT_OFFSET : 0;
  CHECK(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | format, MPI_INFO_NULL, &file));
  define(file, &v);
  write_field(file, &v);
  write_cyclic(file, &v);
  write_turned(file, &v);
  write_pieces(file, &v);
  grow_header(file, &v);
  wrong += wrong_values(file, &v);
  CHECK(ncmpi_close(file));
  CHECK(ncmpi_open(MPI_COMM_WORLD, argv[1], NC_NOWRITE, MPI_INFO_NULL, &file));
  wrong += wrong_values(file, &v);
  CHECK(ncmpi_close(file));
  MPI_Allreduce(&wrong, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%lld values are wrong\n", all);
  MPI_Finalize();
  return all != 0;
}
