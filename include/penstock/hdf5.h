/// @file
/// Datasets of HDF5 files, for C and C++ programs that link HDF5 themselves; Penstock's
/// library does not. A serial build of HDF5 is sufficient. Rank 0 lets HDF5 create or find a
/// contiguous dataset and closes the file; all ranks open its bytes.
#ifndef PENSTOCK_HDF5_H
#define PENSTOCK_HDF5_H

#include <stdio.h>
#include <string.h>

#include <hdf5.h>

#include <penstock/penstock.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Description of a dataset. For an existing one, name is enough; anything else must agree.
typedef struct penstock_hdf5_dataset {
  const char* name;  ///< including its groups, which are created: "/run/u"
  hid_t type;        ///< of its elements in the file, e.g. H5T_IEEE_F64LE; 0: as in the file
  int dimensions;    ///< 1 to 8; 0: as in the file
  int64_t shape[PENSTOCK_MAX_DIMENSIONS];  ///< elements in each dimension
} penstock_hdf5_dataset;

/// @cond internal

// What rank 0 sends to the others.
struct penstock_hdf5_found {
  char fault[5000];  // error message; "": none
  int made;          // the file did not exist before
  int dimensions;
  int64_t shape[PENSTOCK_MAX_DIMENSIONS], element_size, offset;
};

static inline herr_t penstock_hdf5_note(unsigned n, const H5E_error2_t* error, void* text) {
  if (n == 0) snprintf((char*)text, 256, ": %s", error->desc ? error->desc : "");
  return 0;
}

/// Keeps the first error, with HDF5's message.
static inline void penstock_hdf5_fail(struct penstock_hdf5_found* found, const char* path,
                                      const char* what, const char* name) {
  char why[256] = "";
  if (found->fault[0] != '\0') return;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, penstock_hdf5_note, why);
  snprintf(found->fault, sizeof found->fault, "'%.4000s': %s %.255s%.255s", path, what, name, why);
}

static inline int penstock_hdf5_is_there(const char* path) {
  FILE* const file = fopen(path, "rb");
  if (file != NULL) fclose(file);
  return file != NULL;
}

static inline void penstock_hdf5_describe(hid_t dataset, const penstock_hdf5_dataset* given,
                                          const char* path, struct penstock_hdf5_found* found) {
  const hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
  const hid_t properties = H5Dget_create_plist(dataset);
  hsize_t extents[H5S_MAX_RANK] = {0};
  const int dimensions = H5Sget_simple_extent_dims(space, extents, NULL);
  const haddr_t offset = H5Dget_offset(dataset);
  int same = given->dimensions == 0 || given->dimensions == dimensions;
  for (int d = 0; d < dimensions && d < PENSTOCK_MAX_DIMENSIONS; ++d) {
    found->shape[d] = (int64_t)extents[d];
    same = same && (given->dimensions == 0 || given->shape[d] == found->shape[d]);
  }
  found->dimensions = dimensions;
  found->element_size = (int64_t)H5Tget_size(type);
  found->offset = (int64_t)offset;
  if (dimensions < 1 || dimensions > PENSTOCK_MAX_DIMENSIONS)
    penstock_hdf5_fail(found, path, "there must be 1 to 8 dimensions in the dataset", given->name);
  if (!same) penstock_hdf5_fail(found, path, "another shape was asked for than has", given->name);
  if (given->type > 0 && H5Tequal(type, given->type) <= 0)
    penstock_hdf5_fail(found, path, "another type was asked for than has", given->name);
  if (H5Pget_layout(properties) != H5D_CONTIGUOUS || H5Pget_external_count(properties) != 0 ||
      offset == HADDR_UNDEF || H5Tis_variable_str(type) > 0 || H5Tdetect_class(type, H5T_VLEN) > 0)
    penstock_hdf5_fail(found, path,
                       "its elements are not one after the other in the file (chunks, filters, "
                       "external, or no space yet): dataset",
                       given->name);
  H5Pclose(properties);
  H5Tclose(type);
  H5Sclose(space);
}

/// Creates a contiguous dataset with its space allocated at once and not filled.
static inline hid_t penstock_hdf5_make(hid_t file, const penstock_hdf5_dataset* given) {
  hsize_t extents[PENSTOCK_MAX_DIMENSIONS];
  const hid_t links = H5Pcreate(H5P_LINK_CREATE), properties = H5Pcreate(H5P_DATASET_CREATE);
  hid_t space, dataset;
  for (int d = 0; d < given->dimensions; ++d) extents[d] = (hsize_t)given->shape[d];
  space = H5Screate_simple(given->dimensions, extents, NULL);
  H5Pset_create_intermediate_group(links, 1);
  H5Pset_layout(properties, H5D_CONTIGUOUS);
  H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER);
  dataset = H5Dcreate2(file, given->name, given->type, space, links, properties, H5P_DEFAULT);
  H5Sclose(space);
  H5Pclose(properties);
  H5Pclose(links);
  return dataset;
}

static inline int penstock_hdf5_can_make(const penstock_hdf5_dataset* given) {
  int can =
      given->type > 0 && given->dimensions >= 1 && given->dimensions <= PENSTOCK_MAX_DIMENSIONS;
  for (int d = 0; can && d < given->dimensions; ++d) can = given->shape[d] >= 0;
  return can;
}

/// Whether it may be truncated: not while another program has it open, which HDF5 would notice too
/// late.
static inline int penstock_hdf5_is_free(const char* path) {
  hid_t file;
  if (!penstock_hdf5_is_there(path)) return 1;
  file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  if (file < 0) return H5Fis_hdf5(path) == 0;
  H5Fclose(file);
  return 1;
}

static inline int penstock_hdf5_makes_file(const char* mode) {
  return strcmp(mode, "w") == 0 || strcmp(mode, "x") == 0;
}

/// Mode "a" as what it comes to, any other as it is.
static inline const char* penstock_hdf5_settled(const char* path, const char* mode,
                                                const char* name,
                                                struct penstock_hdf5_found* found) {
  if (strcmp(mode, "a") == 0) return penstock_hdf5_is_there(path) ? "r+" : "x";
  if (strcmp(mode, "x") == 0 && penstock_hdf5_is_there(path))
    penstock_hdf5_fail(found, path, "it is there already, and mode x makes a new file for", name);
  else if (!penstock_hdf5_makes_file(mode) && strcmp(mode, "r") != 0 && strcmp(mode, "r+") != 0)
    penstock_hdf5_fail(found, path, "the mode is none of r, r+, a, w, x, to open it for", name);
  return mode;
}

/// The file, open.
static inline hid_t penstock_hdf5_file(const char* path, const char* mode,
                                       struct penstock_hdf5_found* found) {
  const int anew = penstock_hdf5_makes_file(mode);
  const unsigned flags = strcmp(mode, "x") == 0 ? H5F_ACC_EXCL : H5F_ACC_TRUNC;
  if (anew && !penstock_hdf5_is_free(path)) {
    penstock_hdf5_fail(found, path, "it is open elsewhere, or damaged; it cannot hold",
                       "a dataset");
    return -1;
  }
  found->made = !penstock_hdf5_is_there(path);
  if (anew) return H5Fcreate(path, flags, H5P_DEFAULT, H5P_DEFAULT);
  return H5Fopen(path, strcmp(mode, "r") == 0 ? H5F_ACC_RDONLY : H5F_ACC_RDWR, H5P_DEFAULT);
}

/// On rank 0: creates or finds the dataset, and closes the file.
static inline void penstock_hdf5_find(const char* path, const char* mode,
                                      const penstock_hdf5_dataset* given,
                                      struct penstock_hdf5_found* found) {
  const char* const settled = penstock_hdf5_settled(path, mode, given->name, found);
  const int writes = strcmp(settled, "r") != 0, anew = penstock_hdf5_makes_file(settled);
  hid_t file, dataset = -1;
  H5E_auto2_t print;
  void* data;
  H5Eget_auto2(H5E_DEFAULT, &print, &data);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  if (anew && !penstock_hdf5_can_make(given))
    penstock_hdf5_fail(found, path, "type, dimensions and shape are needed to make", given->name);
  file = found->fault[0] == '\0' ? penstock_hdf5_file(path, settled, found) : -1;
  if (file < 0) penstock_hdf5_fail(found, path, "HDF5 cannot open it for the dataset", given->name);
  if (file >= 0 && !anew) dataset = H5Dopen2(file, given->name, H5P_DEFAULT);
  if (file >= 0 && dataset < 0 && writes && penstock_hdf5_can_make(given))
    dataset = penstock_hdf5_make(file, given);
  if (dataset >= 0) penstock_hdf5_describe(dataset, given, path, found);
  else penstock_hdf5_fail(found, path, "HDF5 has no dataset, and made none, of name", given->name);
  if (dataset >= 0) H5Dclose(dataset);
  if (file >= 0 && H5Fclose(file) < 0)
    penstock_hdf5_fail(found, path, "HDF5 cannot close it after making", given->name);
  H5Eset_auto2(H5E_DEFAULT, print, data);
}

/// Collective: checks that all ranks can write the file, if it exists. Changes nothing.
static inline int penstock_hdf5_check(MPI_Comm comm, const char* path, const char* mode) {
  penstock_array nothing;
  penstock_file* file = NULL;
  int rank = 0, there = 0, code = PENSTOCK_SUCCESS;
  MPI_Comm_rank(comm, &rank);
  if (rank == 0) there = strcmp(mode, "r") != 0 && penstock_hdf5_is_there(path);
  MPI_Bcast(&there, 1, MPI_INT, 0, comm);
  if (!there) return PENSTOCK_SUCCESS;
  memset(&nothing, 0, sizeof nothing);
  nothing.dimensions = 1;
  nothing.element_size = 1;
  nothing.container = "raw";
  code = penstock_open(comm, path, "r+", &nothing, NULL, &file);
  return code == PENSTOCK_SUCCESS ? penstock_close(&file) : code;
}

/// Collective: opens the bytes that rank 0 has found. On failure removes a file that rank 0 has
/// created.
static inline int penstock_hdf5_open_found(MPI_Comm comm, const char* path, const char* mode,
                                           struct penstock_hdf5_found* found,
                                           penstock_file** file) {
  penstock_array array;
  int rank = 0, code = PENSTOCK_SUCCESS;
  MPI_Comm_rank(comm, &rank);
  MPI_Bcast(found, (int)sizeof *found, MPI_BYTE, 0, comm);
  memset(&array, 0, sizeof array);
  array.dimensions = found->dimensions;
  memcpy(array.shape, found->shape, sizeof array.shape);
  array.element_size = found->element_size;
  array.offset = found->offset;
  array.container = "raw";
  if (found->fault[0] != '\0') array.fault = found->fault;
  code = penstock_open(comm, path, strcmp(mode, "r") == 0 ? "r" : "r+", &array, NULL, file);
  if (code != PENSTOCK_SUCCESS && rank == 0 && found->made) remove(path);
  return code;
}

/// @endcond

/// Collective over `comm`: opens a dataset of an HDF5 file. mode "r" (reading); "r+" (writing; it
/// is created if it does not exist and type, dimensions and shape are given); "w" (the file is
/// recreated with it); "x" (the same, and an error if the file exists); "a" ("r+" if the file
/// exists, else "x"). All ranks pass the same values. Afterwards *file is like one from
/// penstock_open, and HDF5 has the file closed; rank 0 may set attributes through HDF5 before, or
/// after penstock_close. Returns the same code on every rank: PENSTOCK_ERROR_ARGUMENT with HDF5's
/// message if it refuses.
static inline int penstock_hdf5_open(MPI_Comm comm, const char* path, const char* mode,
                                     const penstock_hdf5_dataset* dataset, penstock_file** file) {
  struct penstock_hdf5_found found;
  int rank = 0;
  const int code = penstock_hdf5_check(comm, path, mode);
  *file = NULL;
  if (code != PENSTOCK_SUCCESS) return code;
  MPI_Comm_rank(comm, &rank);
  memset(&found, 0, sizeof found);
  if (rank == 0) penstock_hdf5_find(path, mode, dataset, &found);
  return penstock_hdf5_open_found(comm, path, mode, &found, file);
}

#ifdef __cplusplus
}
#endif

#endif
