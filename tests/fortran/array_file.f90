! Writes and reads of the Fortran interface, and errors of one rank that all ranks get.
module cases
  use, intrinsic :: iso_c_binding, only: c_int64_t
  use checks
  implicit none
  integer, parameter :: m = 12, n = 8

contains

  subroutine test_dtypes
    character :: letters(2)
    character(5) :: words(2)
    integer(2) :: short
    logical(1) :: truth
    complex :: z(1, 1, 1)
    call expect(penstock_dtype(1.0) == "<f4" .or. penstock_dtype(1.0) == ">f4", "real")
    call expect(index(penstock_dtype([1d0]), "f8") > 0, "double precision")
    call expect(index(penstock_dtype(short), "i2") > 0, "integer(2)")
    call expect(index(penstock_dtype(1_c_int64_t), "i8") > 0, "integer(8)")
    call expect(index(penstock_dtype(z), "c8") > 0, "complex")
    call expect(penstock_dtype(truth) == "|b1", "logical(1)")
    call expect(penstock_dtype(letters) == "|S1" .and. penstock_dtype(words) == "|S5", "character")
  end subroutine

  !> Strided blocks from arrays with halo cells, backwards too; the file describes the array.
  subroutine test_blocks
    type(penstock_file) :: file
    integer :: lower(2), upper(2), i
    integer(c_int64_t) :: bytes, size
    integer(c_int64_t), allocatable :: shape_there(:)
    character(:), allocatable :: dtype
    character :: order
    double precision, allocatable :: local(:, :), back(:, :)
    double precision :: all(m, n)
    all = whole(m, n)
    call penstock_distribute([m, n], "block,block", ranks, rank, lower, upper)
    allocate(local(0:2 * (upper(1) - lower(1) + 1), 0:upper(2) - lower(2) + 2), source=-1d0)
    local(1::2, 1:upper(2) - lower(2) + 1) = all(lower(1):upper(1), lower(2):upper(2))
    call file%open(comm, name_of("blocks.npy"), "w", [m, n], penstock_dtype(local))
    call file%write(local(1::2, 1:upper(2) - lower(2) + 1), lower, upper)
    call file%sync()
    call file%file_size(bytes)
    call expect(bytes == 128 + 8 * m * n, "size of the file")
    call file%close()

    call file%open(comm, name_of("blocks.npy"), "r")
    call file%describe(shape_there, dtype, size, order)
    call expect(all_equal(shape_there, [m, n]), "shape")
    call expect(dtype == penstock_dtype(local) .and. size == 8 .and. order == "F", "dtype and order")
    allocate(back(m, n), source=0d0)
    call file%read(back(m:1:-1, :), [1, 1], [m, n])
    call expect(all_same(back(m:1:-1, :), all), "the whole array, read backwards")
    call file%read(back(:, 3), [1_c_int64_t, 5_c_int64_t], [int(m, c_int64_t), 5_c_int64_t])
    call expect(all_same(back(:, 3:3), all(:, 5:5)), "a column into an array of one dimension")
    call file%read(back(1, 1), [2, 3], [2, 3])
    call expect(back(1, 1) == value_at(2, 3), "one element into a scalar")
    call file%read(back(1:m:2, 1:2), [1, 1], [m, n], [2, n - 1])
    call expect(all_same(back(1:m:2, 1:2), all(1:m:2, 1:n:n - 1)), "a strided section")
    call file%close()
    do i = 0, ubound(local, 1), 2
      call expect(maxval(local(i, :)) == -1, "halo cells are as they were")
    end do
  end subroutine

  logical function all_same(a, b)
    double precision, intent(in) :: a(:, :), b(:, :)
    all_same = all(a == b)
  end function

  logical function all_equal(a, b)
    integer(c_int64_t), intent(in) :: a(:)
    integer, intent(in) :: b(:)
    all_equal = size(a) == size(b) .and. all(a == b)
  end function

  !> Begin and wait, with block-cyclic shares, from arrays with other lower bounds.
  subroutine test_halves(background)
    character(*), intent(in) :: background
    type(penstock_file) :: file
    type(penstock_handle) :: writing, reading
    integer :: lower(2), upper(2), stride(2), block(2), count, i
    double precision :: all(m, n)
    double precision, allocatable, asynchronous :: local(:, :), back(:, :)
    logical :: done
    all = whole(m, n)
    call penstock_distribute([m, n], "cyclic(2),*", ranks, rank, lower, upper, stride, block)
    call expect(ranks == 1 .or. block(1) == 2, "block")
    allocate(local(m, n), back(m, n), source=0d0)
    count = 0
    do i = 1, m
      if (mod((i - 1) / 2, ranks) /= rank) cycle
      count = count + 1
      local(count, :) = all(i, :)
    end do
    call file%open(comm, name_of("halves.npy"), "w", [m, n], "<f8", hints="buffer_size=64K")
    call file%write_begin(writing, local(:count, :), lower, upper, stride, block, background, hints="method=extended")
    call file%read_begin(reading, back(:count, :), lower, upper, stride, block, background)
    call writing%wait()
    call reading%test(done)
    call reading%wait()
    call reading%wait()
    call reading%test(done)
    call expect(done, "a handle that has ended is done")
    call expect(all_same(back(:count, :), local(:count, :)), "what was read in two halves")
    call file%write_begin(writing)
    call writing%free()
    call file%read_begin(reading, background=background)
    call reading%wait()
    call file%read(back, [1, 1], [m, n])
    call expect(all_same(back, all), "what was written in two halves")
    call file%close()
  end subroutine

  !> An array of bare numbers: Fortran's order by default.
  subroutine test_raw
    type(penstock_file) :: file
    integer :: numbers(3, 2), row(2), back(3)
    character :: order
    numbers = reshape([1, 2, 3, 4, 5, 6], [3, 2])
    call file%open(comm, name_of("raw.bin"), "w", [3, 2], penstock_dtype(numbers), offset=4_c_int64_t, container="raw")
    if (rank == 0) then
      call file%write(numbers, [1, 1], [3, 2])
    else
      call file%write()
    end if
    call file%close()
    call file%open(comm, name_of("raw.bin"), "r", [6], penstock_dtype(numbers), offset=4_c_int64_t)
    call file%read(back, [1], [3])
    call expect(all(back == [1, 2, 3]), "numbers in the order of Fortran")
    call file%close()
    call file%open(comm, name_of("raw.bin"), "r+", [3, 2], penstock_dtype(numbers), order="C", offset=4_c_int64_t)
    call file%describe(order=order)
    call expect(order == "C", "order")
    call file%read(row, [1, 1], [1, 2])
    call expect(all(row == [1, 2]), "a row in the order of C")
    call file%truncate(8_c_int64_t)
    call file%close()
  end subroutine

  !> A call has the hints of its file, overridden by those that it passes (docs/hints.md). The tests of C, C++ and Python
  !> have the same cases.
  subroutine test_call_hints
    type(penstock_file) :: file
    double precision :: all(m, n)
    character(32) :: method, hints(6)
    integer :: i, code
    all = whole(m, n)
    hints = [character(32) :: "", "", "aggregators=1; buffer_size=64K", "method=extended", "method=auto", ""]
    call file%open(comm, name_of("call_hints.npy"), "w", [m, n], "<f8", hints="method=gather;buffer_size=1M")
    do i = 1, size(hints)
      if (i == 1) call file%write(all, [1, 1], [m, n])
      if (i > 1) call file%write(all, [1, 1], [m, n], hints=hints(i))
      call file%last_method(method)
      select case (i)
        case (4)
          call expect(method == "extended", "the method that the call gives, not " // method)
        case (5)
          call expect(method /= "gather", "auto, which the call gives")
        case default
          call expect(method == "gather", "the method of the file, not " // method)
      end select
    end do
    call file%write(all, [1, 1], [m, n], hints="storage=direct", ierror=code, message=text)
    call expect_error(code, penstock_error_argument, "storage is a setting of the file and not of a call")
    call file%close()
  end subroutine

  !> Several sections in a call, from arrays with strides; with begin and wait, too. An error in one part is reported on all ranks.
  subroutine test_parts
    type(penstock_file) :: file
    type(penstock_parts) :: mine, both, wrong_one
    type(penstock_handle) :: handle
    integer :: i, code
    double precision, target, asynchronous :: all(m, n), back(2 * m, n)
    real, target, asynchronous :: single(m, n)
    all = whole(m, n)
    back = 0
    single = 0
    call file%open(comm, name_of("parts.npy"), "w", [m, n], "<f8")
    do i = rank + 1, m, ranks
      call mine%add(all(i, :), [i, 1], [i, n])
    end do
    call file%write_parts(mine, hints="method=extended")
    call both%add(back(1:2 * m:2, 1:2), [1, 1], [m, 2])
    call both%add(back(1:m, n), [1_8, int(n, 8)], [int(m, 8), int(n, 8)])
    call file%read_parts(both)
    call expect(all_same(back(1:2 * m:2, 1:2), all(:, 1:2)), "the first of two parts")
    call expect(all_same(back(1:m, n:n), all(:, n:n)), "the second of two parts")
    call expect(maxval(back(2:2 * m:2, 1:2)) == 0, "what lies between the rows")
    back = 0
    call file%write_parts_begin(handle, mine)
    call handle%wait()
    call file%read_parts_begin(handle, both, background="none")
    call handle%wait()
    call expect(all_same(back(1:2 * m:2, 1:2), all(:, 1:2)), "a part that was read in two halves")
    call both%clear()
    call file%read_parts(both)
    if (wrong()) then
      call wrong_one%add(all(1, :), [1, 1], [1, n])
      call wrong_one%add(all(1, 2:), [1, 1], [1, n])
    end if
    call file%write_parts(wrong_one, ierror=code, message=text)
    call expect_error(code, penstock_error_argument, "the array has shape (")
    call wrong_one%clear()
    if (wrong()) call wrong_one%add(single, [1, 1], [m, n])
    call file%read_parts_begin(handle, wrong_one, ierror=code, message=text)
    call expect_error(code, penstock_error_argument, "buffer has elements of 4 bytes, the file of 8")
    call file%close()
  end subroutine

  !> Counts of this rank, of the last call and since the file was opened; close with begin and wait.
  subroutine test_statistics_and_closing
    type(penstock_file) :: file
    type(penstock_handle) :: handle
    double precision :: all(m, n), back(m, n), value
    integer :: code
    all = whole(m, n)
    call file%open(comm, name_of("closing.npy"), "w", [m, n], "<f8")
    if (rank == 0) call file%write(all, [1, 1], [m, n])
    if (rank /= 0) call file%write()
    call file%last_call("bytes_wanted", value)
    call expect(value == merge(8 * m * n, 0, rank == 0), "bytes_wanted of the last call")
    call file%write()
    call file%last_call("bytes_wanted", value)
    call expect(value == 0, "bytes_wanted of a call of nothing")
    call file%statistic("bytes_wanted", value)
    call expect(value == merge(8 * m * n, 0, rank == 0), "bytes_wanted since the file was opened")
    call file%statistic("bytes", value, ierror=code, message=text)
    call expect_error(code, penstock_error_argument, "there is no statistic 'bytes'")
    call file%close_begin(handle)
    call file%write(ierror=code, message=text)
    call expect_error(code, penstock_error_argument, "file is NULL")
    call handle%wait()
    call file%open(comm, name_of("closing.npy"), "r")
    call file%read(back, [1, 1], [m, n])
    call expect(all_same(back, all), "what was written before it was closed in two halves")
    call file%close()
    call file%close_begin(handle, ierror=code, message=text)
    call expect_error(code, penstock_error_argument, "file is NULL")
  end subroutine

  !> The old file is there until the new one is closed.
  subroutine test_replacing
    type(penstock_file) :: file, old
    integer :: numbers(4), back(4), round
    do round = 1, 2
      numbers = round
      call file%open(comm, name_of("again.bin"), merge("w      ", "replace", round == 1), [4], penstock_dtype(numbers))
      call file%write(numbers, [1], [4])
      if (round == 2) then
        call old%open(comm, name_of("again.bin"), "r", [4], penstock_dtype(numbers))
        call old%read(back, [1], [4])
        call expect(all(back == 1), "the old file until close")
        call old%close()
      end if
      call file%close()
    end do
    call file%open(comm, name_of("again.bin"), "r", [4], penstock_dtype(numbers))
    call file%read(back, [1], [4])
    call expect(all(back == 2), "the new file after close")
    call file%close()
  end subroutine
end module

module error_cases
  use checks
  implicit none

contains

  subroutine test_refused_opens
    type(penstock_file) :: file
    integer :: code
    call file%open(comm, name_of("never.npy"), merge("c", "w", wrong()), [4], "<f8", ierror=code, message=text)
    call expect_error(code, penstock_error_argument, "mode")
    call file%open(comm, "no/such/folder.npy", "r", ierror=code, message=text)
    call expect_error(code, penstock_error_storage, "no/such/folder")
    call file%write(ierror=code, message=text)
    call expect_error(code, penstock_error_argument, "file is NULL")
    call file%open(comm, name_of("errors.npy"), "w", [4], "<f8")
    call file%open(comm, name_of("never.npy"), "w", [4], "<f8", ierror=code, message=text)
    call expect_error(code, penstock_error_argument, "is open; close it")
    call file%close()
  end subroutine

  subroutine test_refused_sections
    type(penstock_file) :: file
    type(penstock_handle) :: handle
    double precision :: u(4, 4)
    real :: single(4, 4)
    integer(8) :: whole_numbers(4, 4)
    integer :: code
    u = 0
    single = 0
    whole_numbers = 0
    call file%open(comm, name_of("errors.npy"), "w", [4, 4], "<f8")
    call file%write(u, [1, 1], [4, merge(5, 4, wrong())], ierror=code, message=text)
    call expect(code == penstock_error_argument .or. code == penstock_error_section, "a section outside of the array")
    call file%write(u, [merge(0, 1, wrong()), 1], [merge(3, 4, wrong()), 4], ierror=code, message=text)
    call expect_error(code, penstock_error_section, "")
    if (wrong()) then
      call file%write(u(:3, :), [1, 1], [4, 4], ierror=code, message=text)
    else
      call file%write(u, [1, 1], [4, 4], ierror=code, message=text)
    end if
    call expect_error(code, penstock_error_argument, "the array has shape (3, 4), the section has shape (4, 4)")
    if (wrong()) then
      call file%read(u, [1, 1], [4], ierror=code, message=text)
    else
      call file%read(ierror=code, message=text)
    end if
    call expect_error(code, penstock_error_argument, "2 lower bounds and 1 of its upper bounds")
    if (wrong()) then
      call file%read(single, [1, 1], [4, 4], ierror=code, message=text)
    else
      call file%read(ierror=code, message=text)
    end if
    call expect_error(code, penstock_error_argument, "buffer has elements of 4 bytes, the file of 8")
    if (wrong()) then
      call file%write_begin(handle, whole_numbers, [1, 1], [4, 4], ierror=code, message=text)
    else
      call file%write_begin(handle, ierror=code, message=text)
    end if
    call expect_error(code, penstock_error_argument, "the array holds <i8, the file <f8")
    call file%write(u, [1, 1], [4, 4], hints="methods=direct", ierror=code, message=text)
    call expect_error(code, penstock_error_argument, "no hint 'methods'; did you mean method?")
    call file%close(ierror=code)
    call expect(code == penstock_success, "a close after errors")
  end subroutine
end module

program array_file
  use cases
  use error_cases
  implicit none
  call test_start(comm, rank, ranks)
  call test_dtypes
  call test_blocks
  call test_halves("none")
  call test_halves("storage")
  call test_raw
  call test_call_hints
  call test_parts
  call test_statistics_and_closing
  call test_replacing
  call test_refused_opens
  call test_refused_sections
  if (test_finish(failures) /= 0) error stop 1
end program
