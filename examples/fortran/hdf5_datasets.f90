!> Contiguous datasets of HDF5 files, whose bytes all ranks then write: for rank 0, with a serial HDF5.
module hdf5_datasets
  use, intrinsic :: iso_c_binding, only: c_int64_t
  use hdf5
  implicit none
  private
  public :: new_dataset, dataset_offset, set_text

contains

  !> Makes a file with a dataset of doubles in a group, allocated at once. Returns the offset of its first byte;
  !> -1 after an error. `extents` are in Fortran's order: other languages see the dimensions in reverse.
  integer(c_int64_t) function new_dataset(path, group_name, name, extents) result(offset)
    character(*), intent(in) :: path, group_name, name
    integer, intent(in) :: extents(:)
    integer(hid_t) :: target, group, space, properties, dataset
    integer :: errors(13)
    errors = 0
    call h5open_f(errors(1))
    call h5fcreate_f(path, H5F_ACC_TRUNC_F, target, errors(2))
    call h5gcreate_f(target, group_name, group, errors(3))
    call h5screate_simple_f(size(extents), int(extents, hsize_t), space, errors(4))
    call h5pcreate_f(H5P_DATASET_CREATE_F, properties, errors(5))
    call h5pset_alloc_time_f(properties, H5D_ALLOC_TIME_EARLY_F, errors(6))
    call h5pset_fill_time_f(properties, H5D_FILL_TIME_NEVER_F, errors(7))
    call h5dcreate_f(group, name, H5T_NATIVE_DOUBLE, space, dataset, errors(8), properties)
    call h5dget_offset_f(dataset, offset, errors(9))
    call h5dclose_f(dataset, errors(10))
    call h5gclose_f(group, errors(11))
    call h5sclose_f(space, errors(12))
    call h5pclose_f(properties, errors(12))
    call h5fclose_f(target, errors(13))  ! before Penstock opens it
    if (any(errors < 0)) offset = -1
  end function

  !> The offset of an existing dataset's first byte; -1 after an error.
  integer(c_int64_t) function dataset_offset(path, name) result(offset)
    character(*), intent(in) :: path, name
    integer(hid_t) :: source, dataset
    integer :: errors(6)
    errors = 0
    call h5open_f(errors(1))
    call h5fopen_f(path, H5F_ACC_RDONLY_F, source, errors(2))
    call h5dopen_f(source, name, dataset, errors(3))
    call h5dget_offset_f(dataset, offset, errors(4))
    call h5dclose_f(dataset, errors(5))
    call h5fclose_f(source, errors(6))
    if (any(errors < 0)) offset = -1
  end function

  !> An attribute of a dataset, once Penstock has closed the file; false after an error.
  logical function set_text(path, dataset_name, name, value) result(done)
    character(*), intent(in) :: path, dataset_name, name, value
    integer(hid_t) :: target, dataset, space, kind, attribute
    integer :: errors(12)
    errors = 0
    call h5fopen_f(path, H5F_ACC_RDWR_F, target, errors(1))
    call h5dopen_f(target, dataset_name, dataset, errors(2))
    call h5screate_f(H5S_SCALAR_F, space, errors(3))
    call h5tcopy_f(H5T_NATIVE_CHARACTER, kind, errors(4))
    call h5tset_size_f(kind, int(len(value), size_t), errors(5))
    call h5acreate_f(dataset, name, kind, space, attribute, errors(6))
    call h5awrite_f(attribute, kind, value, [1_hsize_t], errors(7))
    call h5aclose_f(attribute, errors(8))
    call h5tclose_f(kind, errors(9))
    call h5sclose_f(space, errors(10))
    call h5dclose_f(dataset, errors(11))
    call h5fclose_f(target, errors(12))
    done = .not. any(errors < 0)
  end function
end module
