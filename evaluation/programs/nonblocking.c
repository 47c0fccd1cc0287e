/* A collective write beside a computation that calls nothing, to be run with the drop-in MPI-IO and
   without (nonblocking.py): mpiexec -n 2 nonblocking FOLDER single|funneled|serialized|multiple
   MEBIBYTES REPEATS [SECONDS] In turns: the computation alone, write_at_all and the computation,
   iwrite_at_all, the computation and wait. The work of the computation is always the same, about
   SECONDS (0.25) of an unloaded core. Prints on rank 0, of each run, "way;
   all;begin;computation;end;processor;switches": seconds of the slowest rank, seconds of processor
   and switches of context of all ranks, up to the end of a sync, which the times are without. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static int rank, ranks;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

/* MPI's own would spin, on cores that slower ranks need. */
static void barrier(void) {
  const struct timespec pause = {0, 200000};
  MPI_Request request;
  int done = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done;
       MPI_Test(&request, &done, MPI_STATUS_IGNORE))
    nanosleep(&pause, NULL);
}

static volatile double sink = 2;

static void compute(long steps) {
  double x = sink;
  for (long i = 0; i < steps; ++i) x = x * 0.999999 + 1e-6;
  sink = x;
}

static long steps_for(double seconds) {
  const long some = 2000000;
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin = now();
    compute(some);
    if (now() - begin < best) best = now() - begin;
  }
  return (long)(seconds / best * some);
}

/* Of all threads of the process: seconds of processor, switches of context. */
static void take_use(double use[2]) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  use[0] = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
           1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  use[1] = (double)(usage.ru_nvcsw + usage.ru_nivcsw);
}

enum way { alone, blocking, nonblocking };
static const char* const names[] = {"computation", "blocking", "nonblocking"};

static void run(enum way way, MPI_File file, const char* data, int bytes, MPI_Datatype piece,
                long steps) {
  double times[4], slowest[4], before[2], use[2], all[2];
  MPI_Request request = MPI_REQUEST_NULL;
  barrier();
  take_use(before);
  const double begin = now();
  if (way == blocking) MPI_File_write_at_all(file, 0, data, bytes / 4096, piece, MPI_STATUS_IGNORE);
  if (way == nonblocking) MPI_File_iwrite_at_all(file, 0, data, bytes / 4096, piece, &request);
  const double begun = now();
  compute(steps);
  const double computed = now();
  if (way == nonblocking) MPI_Wait(&request, MPI_STATUS_IGNORE);
  const double end = now();
  times[0] = end - begin;
  times[1] = begun - begin;
  times[2] = computed - begun;
  times[3] = end - computed;
  MPI_File_sync(file);
  take_use(use);
  for (int i = 0; i < 2; ++i) use[i] -= before[i];
  MPI_Reduce(times, slowest, 4, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(use, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%s;%.6f;%.6f;%.6f;%.6f;%.6f;%.0f\n", names[way], slowest[0], slowest[1], slowest[2],
           slowest[3], all[0], all[1]);
}

static int level_of(const char* name) {
  if (strcmp(name, "multiple") == 0) return MPI_THREAD_MULTIPLE;
  if (strcmp(name, "serialized") == 0) return MPI_THREAD_SERIALIZED;
  return strcmp(name, "funneled") == 0 ? MPI_THREAD_FUNNELED : MPI_THREAD_SINGLE;
}

int main(int argc, char** argv) {
  if (argc < 5) {
    fprintf(stderr,
            "usage: nonblocking FOLDER single|funneled|serialized|multiple MEBIBYTES REPEATS "
            "[SECONDS]\n");
    return 2;
  }
  int level = 0;
  MPI_Init_thread(&argc, &argv, level_of(argv[2]), &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int bytes = (int)(atol(argv[3]) * 1048576 / ranks / 4096 * 4096);
  long steps = steps_for(argc > 5 ? atof(argv[5]) : 0.25);
  MPI_Bcast(&steps, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  char* const data = malloc(bytes);
  memset(data, 'a' + rank, bytes);
  /* Blocks of 4 KiB by turns. */
  MPI_Datatype piece, view;
  MPI_Type_contiguous(4096, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, (MPI_Aint)4096 * ranks, &view);
  MPI_Type_commit(&piece);
  MPI_Type_commit(&view);
  char path[4096];
  snprintf(path, sizeof path, "%s/nonblocking.bin", argv[1]);
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file) !=
      MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_File_set_view(file, (MPI_Offset)4096 * rank, piece, view, "native", MPI_INFO_NULL);
  MPI_File_write_at_all(file, 0, data, bytes / 4096, piece, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  if (rank == 0) printf("level;%d\n", level);
  for (int i = 0; i < atoi(argv[4]); ++i)
    for (enum way way = alone; way <= nonblocking; ++way) run(way, file, data, bytes, piece, steps);
  MPI_File_close(&file);
  MPI_Type_free(&view);
  MPI_Type_free(&piece);
  free(data);
  MPI_Finalize();
  return 0;
}
