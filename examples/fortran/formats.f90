! The same field in five formats, written by all ranks: raw, .npy, HDF5, netCDF-4 and Zarr. All in order C: (y, x) here is
! [y - 1, x - 1] in other languages.
program formats
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_int64_t
  use hdf5_datasets
  use netcdf_variables
  use penstock
  implicit none
  integer, parameter :: array(2) = [64, 48]
  type(penstock_chunks) :: how
  type(penstock_file) :: file
  integer :: rank, ranks, lower(2), upper(2), x, y
  integer(c_int64_t) :: offset
  double precision, allocatable :: u(:, :)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call penstock_distribute(array, "block,block", ranks, rank, lower, upper)
  allocate(u(lower(1):upper(1), lower(2):upper(2)))
  do x = lower(2), upper(2)
    do y = lower(1), upper(1)
      u(y, x) = 1000d0 * (y - 1) + (x - 1)
    end do
  end do

  call file%open(MPI_COMM_WORLD%mpi_val, "u.raw", "w", array, "<f8", order="C")
  call write_and_close("")
  call file%open(MPI_COMM_WORLD%mpi_val, "u.npy", "w", array, "<f8", order="C")
  call write_and_close('{"dims": ["y", "x"], "units": "K"}')

  if (rank == 0) offset = new_dataset("u.h5", "run", "u", array([2, 1]))
  call write_bytes("u.h5")
  if (rank == 0) then
    if (.not. set_text("u.h5", "run/u", "units", "K")) error stop "HDF5 could not set the units"
    offset = new_variable("u.nc", "u", array([2, 1]), ["x", "y"], "K")
  end if
  call write_bytes("u.nc")

  how%chunks = [32, 16]
  how%compressors = "zstd:3"
  how%dimension_names = "y,x"
  call file%open(MPI_COMM_WORLD%mpi_val, "u.zarr/u", "w", array, "<f8", chunks=how)
  call write_and_close('{"units": "K"}')
  call MPI_Finalize()

contains

  subroutine write_and_close(attributes)
    character(*), intent(in) :: attributes
    call file%write(u, lower, upper)  ! collective
    if (attributes /= "") call file%set_attributes(attributes)
    call file%close()
  end subroutine

  !> Of the dataset that rank 0 has made there.
  subroutine write_bytes(path)
    character(*), intent(in) :: path
    call MPI_Bcast(offset, 1, MPI_INTEGER8, 0, MPI_COMM_WORLD)
    if (offset < 0) error stop "the format's library could not make " // path  ! on every rank
    call file%open(MPI_COMM_WORLD%mpi_val, path, "r+", array, "<f8", order="C", offset=offset, container="raw")
    call write_and_close("")
  end subroutine
end program
