!> Contiguous variables of netCDF-4 files, whose bytes all ranks then write: for rank 0, with a serial netCDF-Fortran.
module netcdf_variables
  use, intrinsic :: iso_c_binding, only: c_int64_t
  use netcdf
  use hdf5_datasets, only: dataset_offset
  implicit none
  private
  public :: new_variable

contains

  !> Makes a file with a variable of doubles, allocated at once. Returns the offset of its first byte; -1 after an
  !> error. Dimensions are in Fortran's order: other languages, and ncdump, see them in reverse.
  integer(c_int64_t) function new_variable(path, name, extents, dimension_names, units) result(offset)
    character(*), intent(in) :: path, name, dimension_names(:), units
    integer, intent(in) :: extents(:)
    integer :: file, variable, d, dimensions(size(extents)), errors(7)
    errors = nf90_noerr
    errors(1) = nf90_create(path, ior(nf90_netcdf4, nf90_clobber), file)
    do d = 1, size(extents)
      if (errors(2) == nf90_noerr) errors(2) = nf90_def_dim(file, trim(dimension_names(d)), extents(d), dimensions(d))
    end do
    errors(3) = nf90_def_var(file, name, nf90_double, dimensions, variable, contiguous=.true.)
    errors(4) = nf90_def_var_fill(file, variable, 1, 0d0)  ! do not fill
    errors(5) = nf90_put_att(file, variable, "units", units)
    errors(6) = nf90_put_var(file, variable, 0d0)  ! one element, which makes HDF5 allocate all of them
    errors(7) = nf90_close(file)                   ! before Penstock opens it
    offset = -1
    if (all(errors == nf90_noerr)) offset = dataset_offset(path, name)
  end function
end module
