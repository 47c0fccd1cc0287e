/* What arrays have beyond their elements: chunks, attributes, steps that are appended, and shares
   with periodic halos. */
#include "checks.h"

enum { ROWS = 12, COLUMNS = 10 };

static double value_at(int64_t row, int64_t column) {
  return (double)(1000 * row + column);
}

/* This rank's rows; some ranks may have none. */
static void rows_of(penstock_range section[2], int64_t columns) {
  section[0].lower = rank * ROWS / ranks;
  section[0].upper = (rank + 1) * ROWS / ranks;
  section[1].lower = 0;
  section[1].upper = columns;
}

static void fill_rows(const penstock_range* section, float* values) {
  int64_t row, column;
  for (row = section[0].lower; row < section[0].upper; ++row)
    for (column = section[1].lower; column < section[1].upper; ++column)
      *values++ = (float)value_at(row, column);
}

static penstock_array numbers(const char* dtype, const penstock_chunks* chunks) {
  penstock_array array = {0};
  array.dimensions = 2;
  array.shape[0] = ROWS;
  array.shape[1] = COLUMNS;
  array.dtype = dtype;
  array.chunks = chunks;
  return array;
}

/* Two thirds of the rows are written; the others have the fill value. */
static void test_chunks(const char* name) {
  const char* const names[2] = {"y", NULL};
  const float fill = -1;
  const penstock_chunks chunks = {{3, 4}, {6, 8}, "gzip:3,crc32c",
                                  &fill,  names,  "{\"units\": \"K\"}"};
  const penstock_array array = numbers("<f4", &chunks);
  const penstock_range all[2] = {{0, ROWS, 0, 0}, {0, COLUMNS, 0, 0}};
  penstock_range mine[2] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
  float values[ROWS * COLUMNS];
  penstock_array reported;
  penstock_file* file = NULL;
  int i;
  EXPECT_OK(penstock_open(MPI_COMM_WORLD, name, "w", &array, NULL, &file));
  rows_of(mine, 5);
  fill_rows(mine, values);
  EXPECT_OK(penstock_write(file, mine, values));
  EXPECT_OK(penstock_close(&file));
  EXPECT_OK(penstock_open(MPI_COMM_WORLD, name, "r", NULL, NULL, &file));
  EXPECT_OK(penstock_describe(file, &reported));
  EXPECT(reported.dimensions == 2 && reported.shape[0] == ROWS &&
         strcmp(reported.container, "zarr") == 0);
  EXPECT(reported.chunks != NULL && reported.chunks->chunks[0] == 3 &&
         reported.chunks->chunks[1] == 4);
  EXPECT(reported.chunks->shards[0] == 6 && reported.chunks->shards[1] == 8);
  EXPECT(*(const float*)reported.chunks->fill_value == fill);
  EXPECT(strcmp(reported.chunks->dimension_names[0], "y") == 0 &&
         reported.chunks->dimension_names[1] == NULL);
  EXPECT_OK(penstock_read(file, all, values));
  for (i = 0; i < ROWS * COLUMNS; ++i)
    EXPECT(values[i] == (i % COLUMNS < 5 ? (float)value_at(i / COLUMNS, i % COLUMNS) : fill));
  EXPECT_OK(penstock_close(&file));
}

static void expect_attributes(penstock_file* file, const char* words) {
  const char* json = NULL;
  EXPECT_OK(penstock_attributes(file, &json));
  EXPECT(json != NULL && strstr(json, words) != NULL);
}

/* For any container; the last rank passes an invalid value. */
static void test_attributes(const char* name) {
  const penstock_array array = numbers("<f8", NULL);
  const int wrong = rank == ranks - 1;
  const char* json = NULL;
  penstock_file* file = NULL;
  EXPECT_OK(penstock_open(MPI_COMM_WORLD, name, "w", &array, NULL, &file));
  EXPECT_OK(penstock_attributes(file, &json));
  EXPECT(json != NULL && strcmp(json, "") == 0);
  EXPECT_OK(penstock_set_attributes(file, "{\"units\": \"K\", \"levels\": [1, 2]}"));
  expect_attributes(file, "\"units\"");
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_set_attributes(file, wrong ? NULL : "{}"));
  EXPECT_WORDS("the text of the attributes is NULL");
#ifdef PENSTOCK_TEST_ZARR
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_set_attributes(file, wrong ? "[1]" : "{}"));
  EXPECT_WORDS("a JSON object");
#endif
  EXPECT_CODE(ranks > 1 ? PENSTOCK_ERROR_DISAGREEMENT : PENSTOCK_SUCCESS,
              penstock_set_attributes(file, wrong ? "{\"step\": 1}" : "{\"step\": 2}"));
  EXPECT_OK(penstock_set_attributes(file, "{\"step\": 17}"));
  EXPECT_OK(penstock_close(&file));
  EXPECT_OK(penstock_open(MPI_COMM_WORLD, name, "r", &array, NULL, &file));
  expect_attributes(file, "17");
  EXPECT_CODE(PENSTOCK_ERROR_STATE, penstock_set_attributes(file, "{}"));
  EXPECT_OK(penstock_close(&file));
}

/* Steps of the slowest dimension, with the other ranks' parts of them. */
static void append_steps(penstock_file* file, int64_t from, int64_t to) {
  const penstock_range mine[1] = {{rank, COLUMNS, ranks, 1}};
  double values[COLUMNS];
  int64_t step, column;
  for (step = from; step < to; ++step) {
    int count = 0;
    for (column = rank; column < COLUMNS; column += ranks) values[count++] = value_at(step, column);
    EXPECT_OK(penstock_append(file, mine, values));
  }
}

static void expect_steps(penstock_file* file, int64_t steps, int is_last) {
  const penstock_range time = {0, steps, 0, 0}, space = {0, COLUMNS, 0, 0};
  const penstock_range all[2] = {is_last ? space : time, is_last ? time : space};
  double values[ROWS * COLUMNS];
  penstock_array reported;
  int64_t i;
  EXPECT_OK(penstock_describe(file, &reported));
  EXPECT(reported.shape[is_last] == steps && reported.shape[!is_last] == COLUMNS);
  EXPECT_OK(penstock_read(file, all, values));
  for (i = 0; i < steps * COLUMNS; ++i) EXPECT(values[i] == value_at(i / COLUMNS, i % COLUMNS));
}

static void test_append(const char* name, const char* order) {
  const penstock_chunks chunks = {{2, 4}, {0}, "gzip", NULL, NULL, NULL};
  const int is_last = order != NULL && strcmp(order, "F") == 0;
  penstock_array array = numbers("<f8", strstr(name, ".zarr") != NULL ? &chunks : NULL);
  penstock_file* file = NULL;
  array.shape[is_last] = PENSTOCK_UNLIMITED;
  array.shape[!is_last] = COLUMNS;
  array.order = order;
  EXPECT_OK(penstock_open(MPI_COMM_WORLD, name, "w", &array, NULL, &file));
  append_steps(file, 0, 3);
  expect_steps(file, 3, is_last);
  EXPECT_OK(penstock_close(&file));
  array.chunks = NULL;
  EXPECT_OK(penstock_open(MPI_COMM_WORLD, name, "r+", &array, NULL, &file));
  append_steps(file, 3, 5);
  expect_steps(file, 5, is_last);
  EXPECT_OK(penstock_close(&file));
  EXPECT_OK(penstock_open(MPI_COMM_WORLD, name, "r", &array, NULL, &file));
  expect_steps(file, 5, is_last);
  EXPECT_CODE(PENSTOCK_ERROR_STATE, penstock_append(file, NULL, NULL));
  EXPECT_OK(penstock_close(&file));
}

/* The steps' parts have strides; a wrong one of the last rank is refused on all. */
static void test_append_parts(void) {
  const penstock_range mine[1] = {{0, COLUMNS, 0, 0}};
  const int64_t backwards[1] = {-8}, shape[1] = {COLUMNS};
  double values[COLUMNS];
  penstock_array array = numbers("<f8", NULL);
  penstock_part part = {0};
  penstock_file* file = NULL;
  int i;
  for (i = 0; i < COLUMNS; ++i) values[COLUMNS - 1 - i] = value_at(0, i);
  array.shape[0] = PENSTOCK_UNLIMITED;
  part.section = mine;
  part.dimensions = rank == ranks - 1 ? 2 : 1;
  part.data = values + COLUMNS - 1;
  part.strides = backwards;
  part.shape = shape;
  EXPECT_OK(penstock_open(MPI_COMM_WORLD, file_name("parts.npy"), "w", &array, NULL, &file));
  EXPECT_CODE(PENSTOCK_ERROR_SECTION, penstock_append_parts(file, 1, &part, NULL));
  EXPECT_WORDS("the section has 2 dimensions, the step of the array has 1");
  part.dimensions = 1;
  EXPECT_OK(penstock_append_parts(file, rank == 0, &part, "method=extended"));
  expect_steps(file, 1, 0);
  EXPECT_OK(penstock_close(&file));
  array = numbers("<f8", NULL);
  EXPECT_OK(penstock_open(MPI_COMM_WORLD, file_name("parts.npy"), "w", &array, NULL, &file));
  EXPECT_CODE(PENSTOCK_ERROR_STATE, penstock_append_parts(file, 0, NULL, NULL));
  EXPECT_WORDS("was not opened to grow");
  EXPECT_OK(penstock_close(&file));
}

/* Checks every cell of the local array, including those around the ends of the rows. */
static void test_periodic(const char* order) {
  penstock_array array = numbers("<f8", NULL);
  const penstock_range all[2] = {{0, ROWS, 0, 0}, {0, COLUMNS, 0, 0}};
  const penstock_halo halo = {{1, 2}, {0, 1}, 1};
  const int is_f = order != NULL && strcmp(order, "F") == 0;
  double whole[ROWS * COLUMNS], *local;
  penstock_share share;
  penstock_file* file = NULL;
  int64_t i, j, cells;
  array.order = order;
  EXPECT_OK(penstock_open(MPI_COMM_WORLD, file_name("periodic.npy"), "w", &array, NULL, &file));
  for (i = 0; i < ROWS * COLUMNS; ++i)
    whole[i] = is_f ? value_at(i % ROWS, i / ROWS) : value_at(i / COLUMNS, i % COLUMNS);
  EXPECT_OK(penstock_write(file, rank == 0 ? all : NULL, whole));
  EXPECT_OK(penstock_distribute(2, array.shape, NULL, NULL, &halo, ranks, rank, &share));
  cells = share.local_shape[0] * share.local_shape[1];
  local = malloc(sizeof *local * (size_t)(cells + 1));
  for (i = 0; i < cells; ++i) local[i] = -7;
  EXPECT_OK(penstock_read_share(file, &share, local));
  for (i = 0; i < share.local_shape[0]; ++i)
    for (j = 0; j < share.local_shape[1]; ++j) {
      const int64_t row = share.section[0].lower - share.halo_before[0] + i;
      const int64_t column = share.section[1].lower - share.halo_before[1] + j + COLUMNS;
      const double found =
          local[is_f ? j * share.local_shape[0] + i : i * share.local_shape[1] + j];
      EXPECT(found == (row < 0 || row >= ROWS ? -7 : value_at(row, column % COLUMNS)));
    }
  penstock_share_free(&share);
  EXPECT_OK(penstock_read_share(file, NULL, NULL));
  EXPECT_OK(penstock_distribute(2, array.shape, NULL, NULL, NULL, ranks, rank, &share));
  EXPECT(share.pieces == NULL);
  EXPECT_OK(penstock_read_share(file, &share, local));
  EXPECT(local[0] == value_at(share.section[0].lower, share.section[1].lower));
  EXPECT_OK(penstock_close(&file));
  free(local);
}

/* The last rank's chunks are wrong. */
static void test_refused_chunks(void) {
  penstock_chunks chunks = {{5, 5}, {0}, NULL, NULL, NULL, NULL};
  penstock_array array = numbers("<f8", &chunks);
  penstock_file* file = NULL;
  const int wrong = rank == ranks - 1;
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT,
              penstock_open(MPI_COMM_WORLD, file_name("none.npy"), "w", &array, NULL, &file));
  EXPECT_WORDS("no Zarr array");
  chunks.compressors = "lzma";
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT,
              penstock_open(MPI_COMM_WORLD, file_name("none.zarr"), "w", &array, NULL, &file));
  EXPECT_WORDS("'lzma' is not one of");
  chunks.compressors = NULL;
  if (wrong) chunks.chunks[1] = -1;
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT,
              penstock_open(MPI_COMM_WORLD, file_name("none.zarr"), "w", &array, NULL, &file));
  EXPECT_WORDS("at least 1");
  if (wrong) array.dimensions = 0;
  chunks.chunks[1] = 5;
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT,
              penstock_open(MPI_COMM_WORLD, file_name("none.zarr"), "w", &array, NULL, &file));
  EXPECT_WORDS("chunks need a shape");
  EXPECT(file == NULL);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  test_attributes(file_name("attributes.npy"));
  test_attributes(file_name("attributes.raw"));
  test_append(file_name("steps.npy"), NULL);
  test_append(file_name("steps.npy"), "F");
  test_append(file_name("steps.raw"), "F");
  test_append_parts();
  test_periodic(NULL);
  test_periodic("F");
#ifdef PENSTOCK_TEST_ZARR
  test_chunks(file_name("chunks.zarr"));
  test_attributes(file_name("attributes.zarr"));
  test_append(file_name("steps.zarr/of/u"), NULL);
  test_refused_chunks();
#else
  (void)test_chunks;
  (void)test_refused_chunks;
#endif
  return finish();
}
