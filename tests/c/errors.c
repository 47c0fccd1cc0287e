/* Errors of the C interface: what one rank does wrongly, all ranks return. The last rank does it.
 */
#include "checks.h"

enum { COUNT = 16 };

static int wrong(void) {
  return rank == ranks - 1;
}

static penstock_array numbers(void) {
  penstock_array array = {0};
  array.dimensions = 1;
  array.shape[0] = COUNT;
  array.dtype = "<i8";
  return array;
}

static penstock_file* create(void) {
  const penstock_array array = numbers();
  penstock_file* file = NULL;
  EXPECT_OK(penstock_open(MPI_COMM_WORLD, file_name("errors.npy"), "w", &array, NULL, &file));
  return file;
}

static void test_names(void) {
  EXPECT(strcmp(penstock_error_text(), "") == 0);
  EXPECT(strcmp(penstock_error_name(PENSTOCK_SUCCESS), "success") == 0);
  EXPECT(strcmp(penstock_error_name(PENSTOCK_ERROR_ARGUMENT), "argument") == 0);
  EXPECT(strcmp(penstock_error_name(PENSTOCK_ERROR_SECTION), "section") == 0);
  EXPECT(strcmp(penstock_error_name(PENSTOCK_ERROR_DISAGREEMENT), "disagreement") == 0);
  EXPECT(strcmp(penstock_error_name(PENSTOCK_ERROR_FORMAT), "format") == 0);
  EXPECT(strcmp(penstock_error_name(PENSTOCK_ERROR_STATE), "state") == 0);
  EXPECT(strcmp(penstock_error_name(PENSTOCK_ERROR_STORAGE), "storage") == 0);
  EXPECT(strcmp(penstock_error_name(PENSTOCK_ERROR_INTERNAL), "internal") == 0);
  EXPECT(strcmp(penstock_error_name(99), "unknown") == 0);
}

/* An open with these values on one rank. */
static void refuse_open(const char* path, const char* mode, const penstock_array* array,
                        const char* hints, const char* words) {
  const penstock_array good = numbers();
  const char* name = file_name("never.npy");
  penstock_file* file = NULL;
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT,
              wrong() ? penstock_open(MPI_COMM_WORLD, path, mode, array, hints, &file)
                      : penstock_open(MPI_COMM_WORLD, name, "w", &good, NULL, &file));
  EXPECT_WORDS(words);
  EXPECT(file == NULL);
}

static void test_bad_opens(void) {
  const char* name = file_name("never.npy");
  penstock_array array = numbers();
  penstock_file* file = NULL;
  refuse_open(NULL, "w", &array, NULL, "path is NULL");
  refuse_open(name, NULL, &array, NULL, "mode is NULL");
  refuse_open(name, "c", &array, NULL, "mode");
  refuse_open(name, "w", &array, "aggregators", "name=value");
  refuse_open(name, "w", &array, "aggregator=2", "no hint 'aggregator'; did you mean aggregators?");
  refuse_open(name, "w", &array, "aggregators=many", "aggregators");
  array.dtype = "float";
  refuse_open(name, "w", &array, NULL, "dtype 'float'");
  array = numbers();
  array.fault = "what a binding found";
  refuse_open(name, "w", &array, NULL, "what a binding found");
  array = numbers();
  array.dimensions = 9;
  refuse_open(name, "w", &array, NULL, "dimensions must be");
  array = numbers();
  array.order = "fortran";
  refuse_open(name, "w", &array, NULL, "order");
  array = numbers();
  array.container = "hdf5";
  refuse_open(name, "w", &array, NULL, "container");
  array = numbers();
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT,
              penstock_open(MPI_COMM_WORLD, name, "w", &array, NULL, wrong() ? NULL : &file));
  EXPECT(file == NULL);
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_open(MPI_COMM_NULL, name, "r", NULL, NULL, &file));
  EXPECT_CODE(PENSTOCK_ERROR_STORAGE,
              penstock_open(MPI_COMM_WORLD, "no/such/folder", "r", &array, NULL, &file));
  if (ranks > 1) {
    EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_open_alone(name, "w", &array, NULL, &file));
    EXPECT_WORDS("MPI_COMM_SELF");
  }
}

/* A write, a read and both of their beginnings with this part on one rank. */
static void refuse(penstock_file* file, int count, const penstock_part* bad, const char* hints,
                   int code, const char* words) {
  const char* backgrounds[2] = {"storage", "none"};
  const char* settings = wrong() ? hints : NULL;
  const penstock_part* parts = wrong() ? bad : NULL;
  penstock_handle* handle = NULL;
  int i;
  if (!wrong()) count = 0;
  EXPECT_CODE(code, penstock_write_parts(file, count, parts, settings));
  EXPECT_WORDS(words);
  EXPECT_CODE(code, penstock_read_parts(file, count, parts, settings));
  EXPECT_WORDS(words);
  for (i = 0; i < 2; ++i) {
    EXPECT_CODE(code,
                penstock_write_parts_begin(file, count, parts, backgrounds[i], settings, &handle));
    EXPECT(handle == NULL);
    EXPECT_CODE(code,
                penstock_read_parts_begin(file, count, parts, backgrounds[i], settings, &handle));
    EXPECT(handle == NULL);
  }
}

static void test_bad_parts(void) {
  static int64_t data[COUNT];
  static const int64_t eight[1] = {8};
  const penstock_range all[1] = {{0, COUNT, 0, 0}}, outside[1] = {{0, COUNT + 1, 1, 1}},
                       backward[1] = {{0, COUNT, -1, 1}}, wide[1] = {{0, COUNT, 2, 3}};
  penstock_part part = {0}, good;
  penstock_file* file = create();
  part.section = all;
  part.data = data;
  good = part;
  EXPECT_OK(penstock_write_parts(file, 1, &good, NULL));
  refuse(file, -1, &part, NULL, PENSTOCK_ERROR_ARGUMENT, "must not be negative");
  refuse(file, 1, NULL, NULL, PENSTOCK_ERROR_ARGUMENT, "parts is NULL");
  refuse(file, 1, &part, "methods=direct", PENSTOCK_ERROR_ARGUMENT,
         "no hint 'methods'; did you mean method?");
  refuse(file, 1, &part, "storage=direct", PENSTOCK_ERROR_ARGUMENT, "storage");
  part.data = NULL;
  refuse(file, 1, &part, NULL, PENSTOCK_ERROR_ARGUMENT, "no memory");
  part = good;
  part.element_size = 4;
  refuse(file, 1, &part, NULL, PENSTOCK_ERROR_ARGUMENT, "elements of 4 bytes");
  part = good;
  part.shape = eight;
  refuse(file, 1, &part, NULL, PENSTOCK_ERROR_ARGUMENT, "shape (8");
  part = good;
  part.fault = "the array is of another type";
  refuse(file, 1, &part, NULL, PENSTOCK_ERROR_ARGUMENT, "of another type");
  part = good;
  part.dimensions = 2;
  refuse(file, 1, &part, NULL, PENSTOCK_ERROR_SECTION, "2 dimensions");
  part.dimensions = 1;
  part.section = outside;
  refuse(file, 1, &part, NULL, PENSTOCK_ERROR_SECTION, "16");
  part.section = backward;
  refuse(file, 1, &part, NULL, PENSTOCK_ERROR_SECTION, "stride");
  part.section = wide;
  refuse(file, 1, &part, NULL, PENSTOCK_ERROR_SECTION, "block");
  EXPECT_OK(penstock_close(&file));
}

static void test_bad_calls(void) {
  const penstock_range all[1] = {{0, COUNT, 0, 0}};
  int64_t data[COUNT] = {0}, bytes = 0;
  penstock_handle* handle = NULL;
  penstock_file* file = create();
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_write(file, all, wrong() ? NULL : data));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_read(file, all, wrong() ? NULL : data));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT,
              penstock_write_begin(file, all, data, wrong() ? "some" : "none", &handle));
  EXPECT_WORDS("background");
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT,
              penstock_read_begin(file, all, data, "none", wrong() ? NULL : &handle));
  EXPECT(handle == NULL);
  int threads = 0;
  MPI_Query_thread(&threads);
  if (threads == MPI_THREAD_MULTIPLE) { /* then the others have the error at the end */
    const int code = penstock_read_begin(file, all, data, "all", wrong() ? NULL : &handle);
    EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, wrong() ? code : penstock_handle_wait(&handle));
    EXPECT_WORDS("the place for the handle");
  }
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_truncate(file, wrong() ? -1 : 1000));
  if (ranks > 1) {
    EXPECT_CODE(PENSTOCK_ERROR_DISAGREEMENT, penstock_truncate(file, 1000 + wrong()));
    EXPECT_CODE(PENSTOCK_ERROR_DISAGREEMENT, wrong() ? penstock_sync(file) : penstock_close(&file));
    EXPECT(file != NULL);
  }
  EXPECT_OK(penstock_file_size(file, &bytes));
  EXPECT(bytes == 128 + COUNT * 8);
  EXPECT_OK(penstock_close(&file));
}

/* If an output pointer is NULL on one rank, only that rank gets an error, after the call. */
static void test_no_place(void) {
  penstock_file* file = create();
  const char* text = NULL;
  double value = 0;
  int64_t bytes = 0;
  EXPECT_CODE(wrong() ? PENSTOCK_ERROR_ARGUMENT : PENSTOCK_SUCCESS,
              penstock_file_size(file, wrong() ? NULL : &bytes));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_describe(file, NULL));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_data_offset(file, NULL));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_hint(file, "no_hint", &text));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_hint(file, NULL, &text));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_last_method(file, NULL));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_statistic(file, "no_count", &value));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_last_call(file, NULL, &value));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_close_begin(&file, NULL));
  EXPECT(file != NULL);
  EXPECT_OK(penstock_close(&file));
}

/* All ranks have no file: all have the same error. */
static void test_no_file(void) {
  penstock_file* file = NULL;
  penstock_handle* handle = NULL;
  int64_t bytes = 0;
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_write(NULL, NULL, NULL));
  EXPECT_WORDS("file is NULL");
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_read(NULL, NULL, NULL));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_write_begin(NULL, NULL, NULL, NULL, &handle));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_sync(NULL));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_file_size(NULL, &bytes));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_close(&file));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_close(NULL));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_abandon(&file));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_handle_wait(NULL));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_handle_free(NULL));
  EXPECT_OK(penstock_handle_free(&handle));
}

/* If a rank has abandoned a file, the others do not wait for it. */
static void test_abandoned(void) {
  penstock_file* file = create();
  if (wrong()) EXPECT_OK(penstock_abandon(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_CODE(wrong() ? PENSTOCK_ERROR_ARGUMENT : PENSTOCK_ERROR_STATE,
              penstock_write(file, NULL, NULL));
  if (file != NULL) EXPECT_OK(penstock_abandon(&file));
  EXPECT(file == NULL);
}

/* A storage error of one rank is returned on all ranks with the same message. */
static void test_storage(void) {
  const penstock_range all[1] = {{0, COUNT, 0, 0}};
  const penstock_array array = numbers();
  int64_t data[COUNT] = {0};
  penstock_handle* handle = NULL;
  penstock_file* file = NULL;
  EXPECT_OK(penstock_open(MPI_COMM_WORLD, file_name("full.npy"), "w", &array,
                          "device=fault:write@1=ENOSPC;active_buffer_size=0", &file));
  EXPECT_OK(penstock_write_begin(file, NULL, NULL, "none", &handle));
  EXPECT_OK(penstock_handle_wait(&handle));
  EXPECT_CODE(PENSTOCK_ERROR_STORAGE, penstock_write(file, all, data));
  EXPECT_WORDS("No space left");
  EXPECT_OK(penstock_close(&file));
}

static void test_distributions(void) {
  const int64_t shape[2] = {4, 4}, grid[2] = {2, 2};
  penstock_share share;
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT,
              penstock_distribute(0, shape, NULL, NULL, NULL, 1, 0, &share));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT,
              penstock_distribute(2, NULL, NULL, NULL, NULL, 1, 0, &share));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT,
              penstock_distribute(2, shape, "block", NULL, NULL, 1, 0, &share));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT,
              penstock_distribute(2, shape, "block,", NULL, NULL, 1, 0, &share));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT,
              penstock_distribute(2, shape, NULL, grid, NULL, 3, 0, &share));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT,
              penstock_distribute(2, shape, NULL, NULL, NULL, 4, 4, &share));
  EXPECT_CODE(PENSTOCK_ERROR_ARGUMENT, penstock_distribute(2, shape, NULL, NULL, NULL, 4, 0, NULL));
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  test_names();
  test_bad_opens();
  test_bad_parts();
  test_bad_calls();
  test_no_place();
  test_no_file();
  if (ranks > 1) test_abandoned();
  test_storage();
  test_distributions();
  return finish();
}
