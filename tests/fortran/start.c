/* MPI for a Fortran program, also where the MPI library has no Fortran of its own. */
#include <mpi.h>

void test_start(int* comm, int* rank, int* ranks) {
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, ranks);
  *comm = (int)MPI_Comm_c2f(MPI_COMM_WORLD);
}

int test_zarr(void) {
#ifdef PENSTOCK_TEST_ZARR
  return 1;
#else
  return 0;
#endif
}

/* The sum of all ranks' failures. */
int test_finish(int failures) {
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all;
}
