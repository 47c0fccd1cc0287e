/* Writes and reads of the C interface: every function, without errors. */
#include "checks.h"

enum { ROWS = 12, COLUMNS = 10 };

/* The value at (row, column) of the arrays that these tests write. */
static double value_at(int64_t row, int64_t column) {
  return (double)(1000 * row + column);
}

static int64_t count_of(penstock_range range) {
  const int64_t stride = range.stride != 0 ? range.stride : 1;
  const int64_t block = range.block != 0 ? range.block : 1;
  int64_t count = 0, step, index;
  for (step = range.lower; step < range.upper; step += stride)
    for (index = step; index < step + block && index < range.upper; ++index) ++count;
  return count;
}

/* The element of a range with this number. */
static int64_t index_of(penstock_range range, int64_t number) {
  const int64_t block = range.block != 0 ? range.block : 1;
  const int64_t stride = range.stride != 0 ? range.stride : 1;
  return range.lower + number / block * stride + number % block;
}

static penstock_file* create(const char* name, const char* order, const char* hints) {
  penstock_array array = {0};
  penstock_file* file = NULL;
  array.dimensions = 2;
  array.shape[0] = ROWS;
  array.shape[1] = COLUMNS;
  array.dtype = "<f8";
  array.order = order;
  EXPECT_OK(penstock_open(MPI_COMM_WORLD, file_name(name), "w", &array, hints, &file));
  return file;
}

/* The values of a section, in C's order. */
static double* values_of(const penstock_range* section) {
  const int64_t rows = count_of(section[0]), columns = count_of(section[1]);
  double* values = malloc(sizeof(double) * (size_t)(rows * columns + 1));
  int64_t i, j;
  for (i = 0; i < rows; ++i)
    for (j = 0; j < columns; ++j)
      values[i * columns + j] = value_at(index_of(section[0], i), index_of(section[1], j));
  return values;
}

/* Every rank checks the whole array. */
static void expect_whole(penstock_file* file) {
  const penstock_range all[2] = {{0, ROWS, 0, 0}, {0, COLUMNS, 0, 0}};
  double read[ROWS * COLUMNS];
  double* expected = values_of(all);
  memset(read, 0, sizeof read);
  EXPECT_OK(penstock_read(file, all, read));
  EXPECT(memcmp(read, expected, sizeof read) == 0);
  free(expected);
}

static void test_distributions(const char* kinds) {
  const int64_t shape[2] = {ROWS, COLUMNS};
  penstock_share share;
  penstock_file* file = create("distributed.npy", NULL, NULL);
  double* values;
  EXPECT_OK(penstock_distribute(2, shape, kinds, NULL, NULL, ranks, rank, &share));
  values = values_of(share.section);
  EXPECT_OK(penstock_write(file, share.section, values));
  expect_whole(file);
  free(values);
  EXPECT_OK(penstock_close(&file));
  EXPECT(file == NULL);
}

static void test_halo(void) {
  const int64_t shape[2] = {ROWS, COLUMNS};
  const int64_t grid[2] = {ranks, 1};
  const penstock_halo halo = {{1, 0}, {0}, 0};
  penstock_share share;
  EXPECT_OK(penstock_distribute(2, shape, NULL, grid, &halo, ranks, rank, &share));
  EXPECT(share.halo_before[0] == (rank > 0));
  EXPECT(share.halo_before[1] == 0);
  EXPECT(share.local_shape[0] == count_of(share.with_halo[0]));
  EXPECT(share.local_shape[0] == count_of(share.section[0]) + (rank > 0) +
                                     (rank + 1 < ranks && count_of(share.section[0])));
  EXPECT(share.local_shape[1] == COLUMNS);
  penstock_share_free(&share);
  EXPECT(share.pieces == NULL && share.piece_count == 0);
}

static void test_descriptions(void) {
  penstock_file* file = create("described.npy", "F", "buffer_size=64K; aggregators=1;");
  penstock_array array;
  int64_t offset = 0, bytes = 0;
  const char* value = NULL;
  EXPECT_OK(penstock_describe(file, &array));
  EXPECT(array.dimensions == 2 && array.shape[0] == ROWS && array.shape[1] == COLUMNS);
  EXPECT(strcmp(array.dtype, "<f8") == 0 && array.element_size == 8);
  EXPECT(strcmp(array.order, "F") == 0 && strcmp(array.container, "npy") == 0);
  EXPECT(array.offset == 0);
  EXPECT_OK(penstock_data_offset(file, &offset));
  EXPECT(offset == 128);
  EXPECT_OK(penstock_file_size(file, &bytes));
  EXPECT(bytes == 128 + ROWS * COLUMNS * 8);
  EXPECT_OK(penstock_hint(file, "aggregators", &value));
  EXPECT(strcmp(value, "1") == 0);
  EXPECT_OK(penstock_hint(file, "buffer_size", &value));
  EXPECT(strcmp(value, "64K") == 0 || strcmp(value, "65536") == 0);
  EXPECT_OK(penstock_close(&file));
}

static void test_statistics(void) {
  const penstock_range row[2] = {{rank, rank + 1, 0, 0}, {0, COLUMNS, 0, 0}};
  double* values = values_of(row);
  penstock_file* file = create("counted.npy", NULL, "active_buffer_size=0");
  const char* method = NULL;
  double wanted = 0, total = 0;
  int number = 0;
  EXPECT_OK(penstock_write(file, row, values));
  EXPECT_OK(penstock_write(file, row, values));
  EXPECT_OK(penstock_last_call(file, "bytes_wanted", &wanted));
  EXPECT(wanted == COLUMNS * 8);
  EXPECT_OK(penstock_statistic(file, "bytes_wanted", &total));
  EXPECT(total == 2 * COLUMNS * 8);
  EXPECT_OK(penstock_last_method(file, &method));
  EXPECT(method != NULL && strlen(method) > 0 && strcmp(method, "auto") != 0);
  for (; penstock_statistic_name(number) != NULL; ++number)
    EXPECT_OK(penstock_statistic(file, penstock_statistic_name(number), &total));
  EXPECT(number > 10 && penstock_statistic_name(-1) == NULL);
  EXPECT_OK(penstock_close(&file));
  free(values);
}

/* Every third double of a row of memory, backwards. */
static const int64_t backwards[2] = {0, -3 * 8};
enum { SPREAD = 3 * COLUMNS };

static penstock_part backward_part(const penstock_range* section, double* memory) {
  static const int64_t shape[2] = {1, COLUMNS};
  penstock_part part = {0};
  part.section = section;
  part.dimensions = 2;
  part.data = memory + 3 * (COLUMNS - 1);
  part.strides = backwards;
  part.shape = shape;
  part.element_size = 8;
  return part;
}

/* Rows in turn, each as a separate part; the last part is empty. */
static void test_parts(void) {
  penstock_file* file = create("parts.npy", NULL, NULL);
  double memory[ROWS][SPREAD], back[SPREAD];
  penstock_range sections[ROWS][2] = {{{0, 0, 0, 0}}};
  penstock_part parts[ROWS + 1] = {{0}};
  const char* method = NULL;
  int count = 0, row, column;
  for (row = rank; row < ROWS; row += ranks, ++count) {
    sections[count][0].lower = row;
    sections[count][0].upper = row + 1;
    sections[count][1].upper = COLUMNS;
    for (column = 0; column < COLUMNS; ++column)
      memory[count][3 * (COLUMNS - 1 - column)] = value_at(row, column);
    parts[count] = backward_part(sections[count], memory[count]);
  }
  EXPECT_OK(penstock_write_parts(file, count + 1, parts, "method=extended;exchange=sparse"));
  EXPECT_OK(penstock_last_method(file, &method));
  EXPECT(strcmp(method, "extended") == 0);
  expect_whole(file);
  memset(back, 0, sizeof back);
  parts[0] = backward_part(sections[0], back);
  EXPECT_OK(penstock_read_parts(file, 1, parts, "method=two-phase"));
  for (column = 0; column < COLUMNS; ++column) {
    EXPECT(back[3 * (COLUMNS - 1 - column)] == value_at(rank, column));
    EXPECT(column == 0 || back[3 * column - 1] == 0);
  }
  EXPECT_OK(penstock_write_parts(file, 0, NULL, NULL));
  EXPECT_OK(penstock_close(&file));
}

/* An array behind other bytes, which grows with r+ and is truncated. */
static void test_raw(void) {
  const char* name = file_name("raw.bin");
  penstock_array array = {0};
  penstock_file* file = NULL;
  const penstock_range mine[1] = {{rank, 8, ranks, 1}};
  char letters[8], read[8];
  int64_t bytes = 0;
  array.dimensions = 1;
  array.shape[0] = 8;
  array.element_size = 1;
  array.offset = 5;
  array.container = "raw";
  memset(letters, 'a' + rank, sizeof letters);
  EXPECT_OK(penstock_open(MPI_COMM_WORLD, name, "w", &array, NULL, &file));
  EXPECT_OK(penstock_write(file, mine, letters));
  EXPECT_OK(penstock_sync(file));
  EXPECT_OK(penstock_truncate(file, 9));
  EXPECT_OK(penstock_file_size(file, &bytes));
  EXPECT(bytes == 9);
  EXPECT_OK(penstock_close(&file));
  EXPECT_OK(penstock_open(MPI_COMM_WORLD, name, "r+", &array, NULL, &file));
  EXPECT_OK(penstock_write(file, rank == 0 ? mine : NULL, rank == 0 ? letters : NULL));
  EXPECT_OK(penstock_close(&file));
  EXPECT_OK(penstock_open_alone(name, "r", &array, NULL, &file));
  EXPECT_OK(penstock_read(file, (const penstock_range[1]){{0, 8, 1, 1}}, read));
  EXPECT(read[0] == 'a' && read[1] == (ranks > 1 ? 'b' : 'a'));
  EXPECT(read[ranks * (7 / ranks)] == 'a');
  EXPECT_OK(penstock_close(&file));
}

/* The number that another open of the file reads. */
static double number_in(const char* name) {
  const penstock_range whole[1] = {{0, 1, 1, 1}};
  penstock_file* file = NULL;
  double number = 0;
  EXPECT_OK(penstock_open(MPI_COMM_WORLD, name, "r", NULL, NULL, &file));
  EXPECT_OK(penstock_read(file, whole, &number));
  EXPECT_OK(penstock_close(&file));
  return number;
}

static void test_replacing(void) {
  const char* name = file_name("replaced.npy");
  const penstock_range whole[1] = {{0, 1, 1, 1}};
  penstock_array array = {0};
  penstock_file* file = NULL;
  double number = 0;
  array.dimensions = 1;
  array.shape[0] = 1;
  array.dtype = "<f8";
  for (number = 1; number < 4; ++number) {
    EXPECT_OK(
        penstock_open(MPI_COMM_WORLD, name, number < 2 ? "w" : "replace", &array, NULL, &file));
    EXPECT_OK(penstock_write(file, whole, &number));
    EXPECT_OK(penstock_sync(file));
    if (number > 1) EXPECT(number_in(name) == number - 1);
    EXPECT_OK(penstock_close(&file));
    EXPECT(number_in(name) == number);
  }
}

static void test_halves(const char* background) {
  const int64_t shape[2] = {ROWS, COLUMNS};
  penstock_file* file = create("halves.npy", NULL, NULL);
  penstock_handle *write = NULL, *read = NULL;
  penstock_share share;
  penstock_part part = {0};
  int done = 0, copied = 0;
  double *values, *back;
  EXPECT_OK(penstock_distribute(2, shape, "block,*", NULL, NULL, ranks, rank, &share));
  values = values_of(share.section);
  back = calloc((size_t)(ROWS * COLUMNS), sizeof *back);
  EXPECT_OK(penstock_write_begin(file, share.section, values, background, &write));
  EXPECT_OK(penstock_read_begin(file, share.section, back, background, &read));
  EXPECT(write != NULL && read != NULL);
  EXPECT_OK(penstock_handle_copied(write, 1, &copied));
  EXPECT(copied == 1);
  EXPECT_OK(penstock_handle_test(read, &done));
  EXPECT_OK(penstock_handle_wait(&write));
  EXPECT_OK(penstock_handle_wait(&read));
  EXPECT(write == NULL && read == NULL);
  EXPECT_OK(penstock_handle_wait(&read));
  EXPECT_OK(penstock_handle_test(read, &done));
  EXPECT(done == 1);
  EXPECT(memcmp(values, back, sizeof *back * (size_t)(count_of(share.section[0]) * COLUMNS)) == 0);
  part.section = share.section;
  part.data = values;
  EXPECT_OK(penstock_write_parts_begin(file, 1, &part, background, "method=extended", &write));
  EXPECT_OK(penstock_handle_copied(write, 1, NULL));
  EXPECT_OK(penstock_handle_free(&write));
  EXPECT(write == NULL);
  part.data = back;
  memset(back, 0, sizeof *back * ROWS * COLUMNS);
  EXPECT_OK(penstock_read_parts_begin(file, 1, &part, background, NULL, &read));
  EXPECT_OK(penstock_handle_wait(&read));
  EXPECT(memcmp(values, back, sizeof *back * (size_t)(count_of(share.section[0]) * COLUMNS)) == 0);
  EXPECT_OK(penstock_close_begin(&file, &write));
  EXPECT(file == NULL && write != NULL);
  EXPECT_OK(penstock_handle_wait(&write));
  EXPECT_OK(penstock_open(MPI_COMM_WORLD, file_name("halves.npy"), "r", NULL, NULL, &file));
  expect_whole(file);
  EXPECT_OK(penstock_close(&file));
  free(values);
  free(back);
}

/* A call has the hints of its file, and in their place those that it gives (docs/hints.md). The
   same cases are in the tests of C++, Fortran and Python. */
static void test_call_hints(void) {
  static const struct {
    const char *hints, *method;
  } cases[] = {{NULL, "gather"},
               {"", "gather"},
               {"aggregators=1; buffer_size=64K", "gather"},
               {"method=extended", "extended"},
               {"method=auto", NULL}, /* another one */
               {NULL, "gather"}};
  const penstock_range all[2] = {{0, ROWS, 0, 0}, {0, COLUMNS, 0, 0}};
  double* values = values_of(all);
  penstock_part part = {0};
  penstock_file* file = create("call_hints.npy", "C", "method=gather;buffer_size=1M");
  const char* reported = NULL;
  size_t i;
  part.section = all;
  part.data = values;
  for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    EXPECT_OK(penstock_write_parts(file, 1, &part, cases[i].hints));
    EXPECT_OK(penstock_last_method(file, &reported));
    if (cases[i].method == NULL) EXPECT(strcmp(reported, "gather") != 0);
    else EXPECT(strcmp(reported, cases[i].method) == 0);
  }
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_write_parts(file, 1, &part, "storage=direct"));
  EXPECT_WORDS("storage is a setting of the file and not of a call");
  EXPECT_OK(penstock_hint(file, "buffer_size", &reported));
  EXPECT(strcmp(reported, "1048576") == 0);
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_hint(file, "bufer_size", &reported));
  EXPECT_WORDS("did you mean buffer_size?");
  EXPECT_OK(penstock_close(&file));
  free(values);
}

int main(int argc, char** argv) {
  int threads = MPI_THREAD_SINGLE;
  start(&argc, &argv);
  MPI_Query_thread(&threads);
  test_distributions(NULL);
  test_distributions("block, block");
  test_distributions("cyclic(3),*");
  test_distributions("*,cyclic");
  test_halo();
  test_descriptions();
  test_statistics();
  test_parts();
  test_call_hints();
  test_raw();
  test_replacing();
  test_halves(NULL);
  test_halves("none");
  if (threads == MPI_THREAD_MULTIPLE) test_halves("all");
  return finish();
}
