/* Checks of the C tests: failures are counted and reported on stderr; all ranks exit alike. */
#ifndef PENSTOCK_TESTS_C_CHECKS_H
#define PENSTOCK_TESTS_C_CHECKS_H

#include <mpi.h>
#include <penstock/penstock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;
static int rank = 0;
static int ranks = 1;

static void check(int holds, const char* what, int line) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "rank %d of %d, line %d: %s; last error: %s\n", rank, ranks, line, what,
          penstock_error_text());
}

static void check_code(int code, int expected, const char* what, int line) {
  if (code == expected) return;
  ++failures;
  fprintf(stderr, "rank %d of %d, line %d: %s gives %s, not %s; last error: %s\n", rank, ranks,
          line, what, penstock_error_name(code), penstock_error_name(expected),
          penstock_error_text());
}

#define EXPECT(condition) check((condition), #condition, __LINE__)
#define EXPECT_CODE(expected, call) check_code((call), (expected), #call, __LINE__)
#define EXPECT_OK(call) EXPECT_CODE(PENSTOCK_SUCCESS, call)
/* The error's message contains `words`. */
#define EXPECT_WORDS(words) EXPECT(strstr(penstock_error_text(), (words)) != NULL)

/* A file of this program and number of ranks, in the current folder. */
static const char* file_name(const char* name) {
  static char text[100];
  snprintf(text, sizeof text, "%d-%s", ranks, name);
  return text;
}

static void start(int* argc, char*** argv) {
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static int finish(void) {
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all != 0;
}

#endif
