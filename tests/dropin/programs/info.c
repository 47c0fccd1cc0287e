/* MPI_File_get_info returns this program's hint, and hints with a value each. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed;

static void expect(int right, const char* what) {
  if (right) return;
  failed = 1;
  fprintf(stderr, "%s\n", what);
}

static void look_at(MPI_Info info) {
  int keys = 0;
  MPI_Info_get_nkeys(info, &keys);
  expect(keys > 0, "no hints are reported");
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    int found = 0;
    MPI_Info_get_nthkey(info, i, key);
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    if (found && value[0] != '\0') continue;
    fprintf(stderr, "hint %s: ", key);
    expect(0, "it has no value");
  }
}

int main(int argc, char** argv) {
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  MPI_Info given, reported;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Info_create(&given);
  MPI_Info_set(given, "cb_buffer_size", "65536");
  expect(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, given, &file) == MPI_SUCCESS,
         "MPI_File_open failed");
  MPI_Info_free(&given);
  expect(MPI_File_get_info(file, &reported) == MPI_SUCCESS, "MPI_File_get_info failed");
  look_at(reported);
  MPI_Info_get(reported, "cb_buffer_size", MPI_MAX_INFO_VAL, value, &found);
  expect(found && strcmp(value, "65536") == 0, "cb_buffer_size is not reported as it was given");
  MPI_Info_free(&reported);
  MPI_File_write_at(file, 0, "reported", 4, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Finalize();
  return failed;
}
