#include <penstock/netcdf.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the program if a call has failed: all ranks get the same error. */
static void check(int code) {
  if (code == PENSTOCK_SUCCESS) return;
  fprintf(stderr, "%s error: %s\n", penstock_error_name(code), penstock_error_text());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  const penstock_netcdf_variable variable = {"blocks", NC_DOUBLE, 2, {512, 512}, {"y", "x"}, "K"};
  penstock_file* file = NULL;
  penstock_share mine;
  int rank = 0, ranks = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  check(penstock_netcdf_open(MPI_COMM_WORLD, "blocks.nc", "w", &variable, &file));
  check(penstock_distribute(2, variable.shape, "block,block", NULL, NULL, ranks, rank, &mine));
  const int64_t count = mine.local_shape[0] * mine.local_shape[1];
  double* local = malloc((size_t)count * sizeof *local);
  for (int64_t i = 0; i < count; ++i) local[i] = rank;
  check(penstock_write(file, mine.section, local)); /* collective */
  check(penstock_close(&file));
  free(local);
  MPI_Finalize();
  return 0;
}
