/* A field of lattice quantum chromodynamics: four dimensions, every dimension in blocks, on each site four 3 x 3 matrices of
 * complex numbers. Each rank's block has a halo in memory. All ranks write their blocks through a view that is a subarray, and
 * read the blocks of another division of the lattice. The case of github.com/pmodels/mpich/issues/7935. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { dims = 4, numbers = 4 * 9 * 2, halo = 1 };

static const int lattice[dims] = {9, 6, 8, 10};

typedef struct {
  int begin[dims], size[dims];
} Block;

static void check(int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "%s: %s\n", what, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static Block block_of(const int grid[dims], int rank) {
  Block block;
  for (int d = dims - 1; d >= 0; --d) {
    const int at = rank % grid[d], begin = lattice[d] * at / grid[d];
    block.begin[d] = begin;
    block.size[d] = lattice[d] * (at + 1) / grid[d] - begin;
    rank /= grid[d];
  }
  return block;
}

static MPI_Datatype subarray(const int* whole, const int* part, const int* begin, MPI_Datatype site) {
  MPI_Datatype type;
  MPI_Type_create_subarray(dims, whole, part, begin, MPI_ORDER_C, site, &type);
  MPI_Type_commit(&type);
  return type;
}

static double value_at(const int at[dims], int number) {
  long long site = 0;
  for (int d = 0; d < dims; ++d) site = site * lattice[d] + at[d];
  return (double)(site * numbers + number);
}

/* Calls on each number of a block with its halo; the value that it should have, or -1 in the halo. */
static double* visit(const Block* block, double* field, int fills, long long* wrong) {
  int i[dims];
  double* p = field;
  for (i[0] = -halo; i[0] < block->size[0] + halo; ++i[0])
    for (i[1] = -halo; i[1] < block->size[1] + halo; ++i[1])
      for (i[2] = -halo; i[2] < block->size[2] + halo; ++i[2])
        for (i[3] = -halo; i[3] < block->size[3] + halo; ++i[3]) {
          int at[dims], inside = 1;
          for (int d = 0; d < dims; ++d) {
            at[d] = block->begin[d] + i[d];
            inside = inside && i[d] >= 0 && i[d] < block->size[d];
          }
          for (int n = 0; n < numbers; ++n, ++p) {
            const double expected = inside ? value_at(at, n) : -1;
            if (fills) *p = expected;
            else *wrong += *p != expected;
          }
        }
  return p;
}

/* Writes or reads this rank's block; numbers that are wrong after a read. */
static long long transfer(MPI_File file, const int grid[dims], int rank, MPI_Datatype site, int writes) {
  const Block block = block_of(grid, rank);
  int in_memory[dims], begin[dims], count = 0;
  long long sites = 1, wrong = 0, expected = 1;
  for (int d = 0; d < dims; ++d) {
    in_memory[d] = block.size[d] + 2 * halo;
    begin[d] = halo;
    sites *= in_memory[d];
    expected *= block.size[d];
  }
  double* const field = malloc(sites * numbers * sizeof(double));
  for (long long i = 0; i < sites * numbers; ++i) field[i] = -1;
  if (writes) visit(&block, field, 1, &wrong);
  MPI_Datatype view = subarray(lattice, block.size, block.begin, site);
  MPI_Datatype memory = subarray(in_memory, block.size, begin, site);
  check(MPI_File_set_view(file, 0, site, view, "native", MPI_INFO_NULL), "MPI_File_set_view");
  MPI_Status status;
  check(writes ? MPI_File_write_all(file, field, 1, memory, &status)
               : MPI_File_read_all(file, field, 1, memory, &status),
        "MPI_File_write_all or MPI_File_read_all");
  MPI_Get_count(&status, site, &count);
  if (count != expected) {
    fprintf(stderr, "rank %d: %d sites, expected %lld\n", rank, count, expected);
    ++wrong;
  }
  visit(&block, field, 0, &wrong);
  MPI_Type_free(&view);
  MPI_Type_free(&memory);
  free(field);
  return wrong;
}

int main(int argc, char** argv) {
  int rank, ranks, grid[dims] = {0, 0, 0, 0}, slabs[dims] = {1, 1, 1, 1};
  long long wrong = 0, all = 0;
  MPI_File file;
  MPI_Datatype site;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, dims, grid);
  slabs[dims - 1] = ranks;
  MPI_Type_contiguous(numbers, MPI_DOUBLE, &site);
  MPI_Type_commit(&site);
  check(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
        "MPI_File_open");
  wrong += transfer(file, grid, rank, site, 1);
  wrong += transfer(file, grid, ranks - 1 - rank, site, 0);
  check(MPI_File_close(&file), "MPI_File_close");
  check(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file), "MPI_File_open");
  wrong += transfer(file, slabs, rank, site, 0);
  check(MPI_File_close(&file), "MPI_File_close");
  MPI_Type_free(&site);
  MPI_Allreduce(&wrong, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%lld numbers are wrong\n", all);
  MPI_Finalize();
  return all != 0;
}
