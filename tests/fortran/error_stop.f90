! Without ierror, an error ends the program with its text.
program error_stop
  use penstock
  implicit none
  interface
    subroutine test_start(comm, rank, ranks) bind(c)
      use, intrinsic :: iso_c_binding, only: c_int
      integer(c_int), intent(out) :: comm, rank, ranks
    end subroutine
  end interface
  type(penstock_file) :: file
  integer :: comm, rank, ranks
  call test_start(comm, rank, ranks)
  call file%open(comm, "no/such/folder.npy", "r")
  print *, "went on after an error"
end program
