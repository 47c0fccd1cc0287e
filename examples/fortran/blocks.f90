program blocks
  use mpi_f08
  use penstock
  implicit none
  integer, parameter :: array(2) = [512, 512]
  type(penstock_file) :: file
  integer :: rank, ranks, lower(2), upper(2)
  double precision, allocatable :: local(:, :)
  double precision :: column(512)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call penstock_distribute(array, "block,block", ranks, rank, lower, upper)
  allocate(local(0:upper(1) - lower(1) + 2, 0:upper(2) - lower(2) + 2))  ! with a halo of one cell
  local = rank
  call file%open(MPI_COMM_WORLD%mpi_val, "blocks.npy", "w", array, penstock_dtype(local))
  call file%write(local(1:ubound(local, 1) - 1, 1:ubound(local, 2) - 1), lower, upper)  ! collective, in place
  call file%read(column, [1, 257], [512, 257])                                          ! every rank the same column
  call file%close()
  if (rank == 0) print *, "the column begins with", column(1), "and ends with", column(512)
  call MPI_Finalize()
end program
