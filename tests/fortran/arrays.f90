! What arrays have beyond their elements: chunks, attributes, steps that are appended, and shares with periodic halos.
module array_cases
  use, intrinsic :: iso_c_binding, only: c_int8_t, c_int64_t
  use checks
  implicit none
  integer, parameter :: m = 12, n = 8

contains

  !> Elements keep their indices: element (i, j) here is [i - 1, j - 1] elsewhere.
  subroutine test_chunks
    type(penstock_file) :: file
    type(penstock_chunks) :: how
    integer :: lower(2), upper(2), code
    integer(c_int64_t), allocatable :: shape_there(:)
    character :: order
    character(:), allocatable :: json
    real :: all(m, n), back(m, n)
    all = real(whole(m, n))
    how%chunks = [3, 4]
    how%shards = [6, 8]
    how%compressors = "gzip:3,crc32c"
    how%fill_value = transfer(-1.0, [0_c_int8_t])
    how%dimension_names = "y,x"
    how%attributes = '{"units": "K"}'
    call penstock_distribute([m, n], "block,block", ranks, rank, lower, upper)
    call file%open(comm, name_of("chunks.zarr"), "w", [m, n], penstock_dtype(all), chunks=how)
    if (rank == 0) upper(2) = upper(2) - 1
    call file%write(all(lower(1):upper(1), lower(2):upper(2)), lower, upper)
    if (rank == 0) all(lower(1):upper(1), upper(2) + 1) = -1
    call file%close()
    call file%open(comm, name_of("chunks.zarr"), "r")
    call file%describe(shape_there, order=order)
    call expect(order == "C" .and. size(shape_there) == 2, "order and dimensions")
    call expect(shape_there(1) == m .and. shape_there(2) == n, "shape")
    call file%attributes(json)
    call expect(index(json, '"units":"K"') > 0, "attributes " // json)
    call file%read(back, [1, 1], [m, n])
    if (rank == 0) call expect(.not. any(back /= all), "what was written, and the fill value")
    call file%close()
    how%fill_value = transfer(-1d0, [0_c_int8_t])
    call file%open(comm, name_of("never.zarr"), "w", [m, n], penstock_dtype(all), chunks=how, ierror=code, message=text)
    call expect_error(code, penstock_error_argument, "fill_value has 8 bytes, an element of ")
    deallocate(how%fill_value)
    how%shards = [6]
    call file%open(comm, name_of("never.zarr"), "w", [m, n], penstock_dtype(all), chunks=how, ierror=code, message=text)
    call expect_error(code, penstock_error_argument, "shards has 1 extents for 2 dimensions")
  end subroutine

  subroutine test_attributes(name)
    character(*), intent(in) :: name
    type(penstock_file) :: file
    character(:), allocatable :: json
    integer :: code
    call file%open(comm, name, "w", [4], "<f8")
    call file%attributes(json)
    call expect(json == "", "no attributes")
    call file%set_attributes('{"units": "m/s"}  ')
    if (test_zarr() /= 0) then  ! there is a JSON library
      call file%set_attributes(merge("{} ", "[1]", .not. wrong()), ierror=code, message=text)
      call expect_error(code, penstock_error_argument, "a JSON object")
    end if
    call file%attributes(json)
    call expect(index(json, "m/s") > 0, "attributes " // json)
    call file%close()
    call file%attributes(json, ierror=code, message=text)
    call expect_error(code, penstock_error_argument, "file is NULL")
  end subroutine

  !> Steps along the slowest dimension: the last one, of a Zarr array the first.
  subroutine test_append(name, is_last)
    character(*), intent(in) :: name
    logical, intent(in) :: is_last
    type(penstock_file) :: file
    integer :: step, lower(1), upper(1), shape_here(2), code
    double precision :: all(n, 5), back(n, 5)
    all = whole(n, 5)
    shape_here = merge([n, penstock_unlimited], [penstock_unlimited, n], is_last)
    call penstock_distribute([n], "block", ranks, rank, lower, upper)
    call file%open(comm, name, "w", shape_here, "<f8")
    do step = 1, 3
      call file%append(all(lower(1):upper(1), step), lower, upper)
    end do
    call file%close()
    call file%open(comm, name, "r+", shape_here, "<f8")
    do step = 4, 5
      if (rank == 0) then
        call file%append(all(::2, step), [1_c_int64_t], [int(n, c_int64_t)], [2_c_int64_t])
      else
        call file%append()
      end if
      if (is_last) call file%write(all(:, step), [1, step], [n, step])
      if (.not. is_last) call file%write(all(:, step), [step, 1], [step, n])
    end do
    call file%append(all(:, 1), [1, 1], [n, 1], ierror=code, message=text)
    call expect_error(code, penstock_error_section, "the section has 2 dimensions, the step of the array has 1")
    do step = 1, 5
      if (is_last) call file%read(back(:, step), [1, step], [n, step])
      if (.not. is_last) call file%read(back(:, step), [step, 1], [step, n])
    end do
    call expect(.not. any(back /= all), "the steps of " // trim(name))
    call file%close()
  end subroutine

  subroutine test_append_numbers
    type(penstock_file) :: file
    integer :: i, back(3)
    integer, parameter :: nothing(0) = [integer ::]
    call file%open(comm, name_of("numbers.npy"), "w", [penstock_unlimited], penstock_dtype(1))
    do i = 1, 3
      call file%append(i * i, nothing, nothing)
    end do
    call file%read(back, [1], [3])
    call expect(all(back == [1, 4, 9]), "numbers that were appended")
    call file%close()
  end subroutine

  !> The first dimension is periodic; the second has a frame.
  subroutine test_periodic
    type(penstock_file) :: file
    integer :: lower(2), upper(2), before(2), after(2), i, j, code
    double precision :: all(m, n)
    double precision, allocatable :: local(:, :)
    all = whole(m, n)
    call file%open(comm, name_of("periodic.npy"), "w", [m, n], "<f8")
    call file%write(all, [1, 1], [m, n])
    call penstock_distribute([m, n], "block,block", ranks, rank, lower, upper, halo=[2, 1], periodic=[.true., .false.], &
                             frame=.true., before=before, after=after)
    call expect(.not. any(before /= [2, 1] .or. after /= [2, 1]), "halo cells on all sides")
    allocate(local(lower(1) - before(1):upper(1) + after(1), lower(2) - before(2):upper(2) + after(2)), source=-7d0)
    call file%read_share(local, "block,block", ranks, rank, [2, 1], [.true., .false.], .true.)
    do j = lbound(local, 2), ubound(local, 2)
      do i = lbound(local, 1), ubound(local, 1)
        if (j < 1 .or. j > n) then
          call expect(local(i, j) == -7, "a cell of the frame")
        else
          call expect(local(i, j) == value_at(modulo(i - 1, m) + 1, j), "a cell of the block or its halo")
        end if
      end do
    end do
    call file%read_share(local, "block,block", ranks, rank, ierror=code, message=text)
    call expect_error(code, penstock_error_argument, "this rank's share with its halo has shape (")
    call file%read_share(local, "block,block", ranks, rank, [2], ierror=code, message=text)
    call expect_error(code, penstock_error_argument, "halo has 1 widths for 2 dimensions")
    call file%close()
    call penstock_distribute([m, n], "block,block", ranks, rank, lower, upper, periodic=[.true.], ierror=code, message=text)
    call expect_error(code, penstock_error_argument, "periodic has 1 values for 2 dimensions")
    call penstock_distribute([m, n], "block,block", ranks, rank, lower, upper, before=before, after=after)
    call expect(.not. any(before /= 0 .or. after /= 0), "no halo")
  end subroutine
end module

program arrays
  use array_cases
  implicit none
  call test_start(comm, rank, ranks)
  call test_attributes(name_of("attributes.npy"))
  call test_append(name_of("steps.npy"), .true.)
  call test_append(name_of("steps.raw"), .true.)
  call test_append_numbers
  call test_periodic
  if (test_zarr() /= 0) then
    call test_chunks
    call test_attributes(name_of("attributes.zarr"))
    call test_append(name_of("steps.zarr"), .false.)
  end if
  if (test_finish(failures) /= 0) error stop 1
end program
