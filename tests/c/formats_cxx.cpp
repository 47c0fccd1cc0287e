// The headers for programs that link HDF5 and netCDF-C are valid C++, too.
#include <penstock/hdf5.h>
#include <penstock/netcdf.h>

static_assert(noexcept(penstock_error_text) && sizeof(penstock_hdf5_dataset) > 0);

int open_either(MPI_Comm comm, bool netcdf, penstock_file** file);

int open_either(MPI_Comm comm, bool netcdf, penstock_file** file) {
  const penstock_hdf5_dataset dataset{"/u", H5T_IEEE_F64LE, 1, {8}};
  const penstock_netcdf_variable variable{"u", NC_DOUBLE, 1, {8}, {"x"}, "K"};
  return netcdf ? penstock_netcdf_open(comm, "u.nc", "w", &variable, file)
                : penstock_hdf5_open(comm, "u.h5", "w", &dataset, file);
}
