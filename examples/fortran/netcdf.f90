! Rank 0 makes a contiguous variable with netCDF-Fortran, all ranks write its bytes.
program blocks
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_int64_t
  use netcdf_variables
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
  if (rank == 0) offset = new_variable("blocks.nc", "blocks", array([2, 1]), ["x", "y"], "K")
  call MPI_Bcast(offset, 1, MPI_INTEGER8, 0, MPI_COMM_WORLD)
  if (offset < 0) error stop "netCDF could not make blocks.nc"  ! on every rank
  call penstock_distribute(array, "block,block", ranks, rank, lower, upper)
  allocate(local(upper(1) - lower(1) + 1, upper(2) - lower(2) + 1))
  local = rank
  call file%open(MPI_COMM_WORLD%mpi_val, "blocks.nc", "r+", array, penstock_dtype(local), order="C", offset=offset, &
                 container="raw")  ! (i, j) is [i - 1, j - 1] in other languages
  call file%write(local, lower, upper)  ! collective
  call file%close()
  call MPI_Finalize()
end program
