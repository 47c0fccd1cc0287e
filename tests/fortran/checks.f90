! Checks of the Fortran tests: failures are counted and reported on stderr; all ranks exit alike.
module checks
  use, intrinsic :: iso_fortran_env, only: error_unit
  use penstock
  implicit none
  integer :: failures = 0, comm = 0, rank = 0, ranks = 1
  character(300) :: text

  interface
    subroutine test_start(comm, rank, ranks) bind(c)
      use, intrinsic :: iso_c_binding, only: c_int
      integer(c_int), intent(out) :: comm, rank, ranks
    end subroutine
    !> Whether the library has what Zarr arrays need: not 0.
    function test_zarr() bind(c) result(has)
      use, intrinsic :: iso_c_binding, only: c_int
      integer(c_int) :: has
    end function
    function test_finish(failures) bind(c) result(all)
      use, intrinsic :: iso_c_binding, only: c_int
      integer(c_int), value :: failures
      integer(c_int) :: all
    end function
  end interface

contains

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    write(error_unit, "(a,i0,a,i0,3a)") "rank ", rank, " of ", ranks, ": not so: ", what, "; " // trim(text)
  end subroutine

  !> The call that gave `code` and `text` failed so on this rank.
  subroutine expect_error(code, expected, words)
    integer, intent(in) :: code, expected
    character(*), intent(in) :: words
    call expect(code == expected, "an error with '" // words // "'")
    call expect(index(text, words) > 0, "words '" // words // "'")
  end subroutine

  logical function wrong()
    wrong = rank == ranks - 1
  end function

  function name_of(file) result(name)
    character(*), intent(in) :: file
    character(100) :: name
    name = achar(iachar("0") + ranks) // "-" // file
  end function

  double precision elemental function value_at(i, j)
    integer, intent(in) :: i, j
    value_at = 1000 * i + j
  end function

  !> The expected array of m x n.
  function whole(m, n) result(values)
    integer, intent(in) :: m, n
    double precision :: values(m, n)
    integer :: i, j
    do j = 1, n
      do i = 1, m
        values(i, j) = value_at(i, j)
      end do
    end do
  end function
end module
