// Ends in an error of a file: fatal_error MPI_ERRORS_ARE_FATAL, or MPI_ERRORS_ABORT.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_File file;
  MPI_Errhandler handler = MPI_ERRORS_RETURN;
  MPI_Init(&argc, &argv);
  if (strcmp(argv[1], "MPI_ERRORS_ARE_FATAL") == 0) handler = MPI_ERRORS_ARE_FATAL;
#ifdef MPI_ERRORS_ABORT
  if (strcmp(argv[1], "MPI_ERRORS_ABORT") == 0) handler = MPI_ERRORS_ABORT;
#endif
  MPI_File_open(MPI_COMM_WORLD, "fatal.bin", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_set_errhandler(file, handler);
  MPI_File_seek(file, -1, MPI_SEEK_SET);
  printf("the program went on\n");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
