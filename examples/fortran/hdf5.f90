! Rank 0 has HDF5 make a contiguous dataset, all ranks write its bytes.
program blocks
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_int64_t
  use hdf5
  use penstock
  implicit none
  integer, parameter :: array(2) = [512, 512]
  type(penstock_file) :: file
  integer :: rank, ranks, lower(2), upper(2)
  integer(c_int64_t) :: offset
  double precision, allocatable :: local(:, :)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  if (rank == 0) offset = new_dataset("blocks.h5", "run", "blocks")
  call MPI_Bcast(offset, 1, MPI_INTEGER8, 0, MPI_COMM_WORLD)
  if (offset < 0) error stop "HDF5 could not make blocks.h5"  ! on every rank
  call penstock_distribute(array, "block,block", ranks, rank, lower, upper)
  lower = lower([2, 1])  ! other languages see the dimensions in reverse: there, the first one varies slowest
  upper = upper([2, 1])
  allocate(local(upper(1) - lower(1) + 1, upper(2) - lower(2) + 1))
  local = rank
  call file%open(MPI_COMM_WORLD%mpi_val, "blocks.h5", "r+", array, penstock_dtype(local), offset=offset, container="raw")
  call file%write(local, lower, upper)  ! collective
  call file%close()
  call MPI_Finalize()

contains

  !> Its first byte in the file, which has space for all of it at once; -1 after an error.
  integer(c_int64_t) function new_dataset(path, group_name, name) result(offset)
    character(*), intent(in) :: path, group_name, name
    integer(hid_t) :: target, group, space, properties, dataset
    integer(hsize_t) :: extents(2)
    integer :: errors(12)
    errors = 0
    extents = array
    call h5open_f(errors(1))
    call h5fcreate_f(path, H5F_ACC_TRUNC_F, target, errors(2))
    call h5gcreate_f(target, group_name, group, errors(3))
    call h5screate_simple_f(2, extents, space, errors(4))
    call h5pcreate_f(H5P_DATASET_CREATE_F, properties, errors(5))
    call h5pset_alloc_time_f(properties, H5D_ALLOC_TIME_EARLY_F, errors(6))
    call h5pset_fill_time_f(properties, H5D_FILL_TIME_NEVER_F, errors(7))
    call h5dcreate_f(group, name, H5T_NATIVE_DOUBLE, space, dataset, errors(8), properties)
    call h5dget_offset_f(dataset, offset, errors(9))
    call h5dclose_f(dataset, errors(10))
    call h5gclose_f(group, errors(11))
    call h5sclose_f(space, errors(11))
    call h5pclose_f(properties, errors(11))
    call h5fclose_f(target, errors(12))  ! before Penstock opens it
    if (any(errors < 0)) offset = -1
  end function
end program
