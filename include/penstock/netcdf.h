/// @file
/// Variables of netCDF-4 files, for C and C++ programs that link netCDF-C and HDF5
/// themselves; Penstock's library does not. Serial builds of both are sufficient. Rank 0 lets
/// netCDF-C create a contiguous variable, all ranks open its bytes.
#ifndef PENSTOCK_NETCDF_H
#define PENSTOCK_NETCDF_H

#include <netcdf.h>

#include <penstock/hdf5.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A variable of the root group. For an existing one, name is enough.
typedef struct penstock_netcdf_variable {
  const char* name;                        ///< e.g. "u"
  nc_type type;                            ///< a number: NC_DOUBLE, NC_INT...; 0: as in the file
  int dimensions;                          ///< 1 to 8; 0: as in the file
  int64_t shape[PENSTOCK_MAX_DIMENSIONS];  ///< elements in each dimension
  const char* dimension_names[PENSTOCK_MAX_DIMENSIONS];  ///< missing ones are created
  const char* units;                                     ///< the attribute of that name; NULL: none
} penstock_netcdf_variable;

/// @cond internal

static inline void penstock_netcdf_fail(struct penstock_hdf5_found* found, const char* path,
                                        const char* what, const char* name, int status) {
  if (found->fault[0] != '\0') return;
  snprintf(found->fault, sizeof found->fault, "'%.4000s': %s %.255s: %.255s", path, what, name,
           nc_strerror(status));
}

/// A dimension of that name and size, created if it does not exist.
static inline int penstock_netcdf_dimension(int file, const char* name, int64_t extent, int* id) {
  size_t there = 0;
  int status = nc_inq_dimid(file, name, id);
  if (status == NC_EBADDIM) return nc_def_dim(file, name, (size_t)extent, id);
  if (status == NC_NOERR) status = nc_inq_dimlen(file, *id, &there);
  return status == NC_NOERR && there != (size_t)extent ? NC_EDIMSIZE : status;
}

/// Defines it, and writes one zero, which makes HDF5 allocate all elements.
static inline int penstock_netcdf_make(int file, const penstock_netcdf_variable* given) {
  const double zero = 0;
  const size_t first[PENSTOCK_MAX_DIMENSIONS] = {0};
  int ids[PENSTOCK_MAX_DIMENSIONS], variable = 0, status = NC_NOERR;
  for (int d = 0; d < given->dimensions && status == NC_NOERR; ++d)
    status = penstock_netcdf_dimension(file, given->dimension_names[d], given->shape[d], &ids[d]);
  if (status == NC_NOERR)
    status = nc_def_var(file, given->name, given->type, given->dimensions, ids, &variable);
  if (status == NC_NOERR) status = nc_def_var_chunking(file, variable, NC_CONTIGUOUS, NULL);
  if (status == NC_NOERR) status = nc_def_var_fill(file, variable, NC_NOFILL, NULL);
  if (status == NC_NOERR && given->units != NULL)
    status = nc_put_att_text(file, variable, "units", strlen(given->units), given->units);
  if (status == NC_NOERR) status = nc_enddef(file);
  return status == NC_NOERR ? nc_put_var1_double(file, variable, first, &zero) : status;
}

static inline int penstock_netcdf_can_make(const penstock_netcdf_variable* given) {
  int can = given->type >= NC_BYTE && given->type <= NC_UINT64 && given->type != NC_CHAR &&
            given->dimensions >= 1 && given->dimensions <= PENSTOCK_MAX_DIMENSIONS;
  for (int d = 0; can && d < given->dimensions; ++d)
    can = given->shape[d] > 0 && given->dimension_names[d] != NULL;
  return can;
}

/// On rank 0: creates the variable if it does not exist, and closes the file.
static inline void penstock_netcdf_prepare(const char* path, const char* mode,
                                           const penstock_netcdf_variable* given,
                                           struct penstock_hdf5_found* found) {
  const char* const settled = penstock_hdf5_settled(path, mode, given->name, found);
  const int anew = penstock_hdf5_makes_file(settled);
  const int clobber = strcmp(settled, "x") == 0 ? NC_NOCLOBBER : NC_CLOBBER;
  int file = 0, variable = 0, status;
  if (anew && !penstock_netcdf_can_make(given)) {
    penstock_netcdf_fail(found, path, "type, shape and names of dimensions are needed to make",
                         given->name, NC_EINVAL);
    return;
  }
  H5E_BEGIN_TRY {
    if (anew && !penstock_hdf5_is_free(path))
      penstock_netcdf_fail(found, path, "it is open elsewhere, or damaged; it cannot hold",
                           given->name, NC_EPERM);
  }
  H5E_END_TRY
  if (found->fault[0] != '\0') return;
  found->made = !penstock_hdf5_is_there(path);
  status = anew ? nc_create(path, NC_NETCDF4 | clobber, &file) : nc_open(path, NC_WRITE, &file);
  if (status != NC_NOERR) {
    penstock_netcdf_fail(found, path, "netCDF cannot open it for", given->name, status);
    return;
  }
  status = nc_inq_varid(file, given->name, &variable);
  if (status == NC_ENOTVAR && penstock_netcdf_can_make(given)) {
    if (!anew) nc_redef(file);
    status = penstock_netcdf_make(file, given);
  }
  if (status != NC_NOERR)
    penstock_netcdf_fail(found, path, "netCDF has no variable, and made none, of name", given->name,
                         status);
  status = nc_close(file);
  if (status != NC_NOERR)
    penstock_netcdf_fail(found, path, "netCDF cannot close it after making", given->name, status);
}

/// @endcond

/// Collective over `comm`: opens a variable of a netCDF-4 file, like penstock_hdf5_open for
/// datasets.
static inline int penstock_netcdf_open(MPI_Comm comm, const char* path, const char* mode,
                                       const penstock_netcdf_variable* variable,
                                       penstock_file** file) {
  const char* const found_mode = strcmp(mode, "r") == 0 ? "r" : "r+";
  struct penstock_hdf5_found found;
  penstock_hdf5_dataset dataset;
  int rank = 0, made = 0;
  const int code = penstock_hdf5_check(comm, path, mode);
  *file = NULL;
  if (code != PENSTOCK_SUCCESS) return code;
  MPI_Comm_rank(comm, &rank);
  memset(&found, 0, sizeof found);
  memset(&dataset, 0, sizeof dataset);
  dataset.name = variable->name;
  dataset.dimensions = variable->dimensions;
  memcpy(dataset.shape, variable->shape, sizeof dataset.shape);
  if (rank == 0 && strcmp(mode, "r") != 0) penstock_netcdf_prepare(path, mode, variable, &found);
  made = found.made;
  if (rank == 0 && found.fault[0] == '\0') penstock_hdf5_find(path, found_mode, &dataset, &found);
  found.made = made;
  return penstock_hdf5_open_found(comm, path, mode, &found, file);
}

#ifdef __cplusplus
}
#endif

#endif
