!> The Fortran interface: an n-dimensional array in one shared file, read and written by all ranks together.
!>
!> Communicators are integers: `comm%mpi_val` of mpi_f08, or those of `use mpi` and mpif.h. Sections are 1-based with their
!> upper bounds included. Without `ierror`, an error ends the program with its text.
module penstock
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int32_t, c_int64_t, c_null_char, c_null_ptr, c_ptr
  use penstock_calls, only: c_begin, c_close, c_describe, c_distribute, c_dtype, c_file_size, c_free, c_open, c_sync, &
                            c_test, c_transfer, c_truncate, c_wait, finish, longest_text, terminate, widen
  implicit none
  private
  public :: penstock_file, penstock_handle, penstock_dtype, penstock_distribute

  integer, parameter, public :: penstock_success = 0, penstock_error_argument = 1, penstock_error_section = 2, &
                                penstock_error_disagreement = 3, penstock_error_format = 4, penstock_error_state = 5, &
                                penstock_error_storage = 6, penstock_error_internal = 7
  integer, parameter :: dtype_size = 32

  !> An open file.
  type :: penstock_file
    private
    type(c_ptr) :: pointer = c_null_ptr
  contains
    procedure, private :: open_existing, open_32, open_64
    procedure, private :: write_nothing, write_32, write_64, read_nothing, read_32, read_64
    procedure, private :: write_begin_nothing, write_begin_32, write_begin_64
    procedure, private :: read_begin_nothing, read_begin_32, read_begin_64
    generic :: open => open_existing, open_32, open_64
    generic :: write => write_nothing, write_32, write_64
    generic :: read => read_nothing, read_32, read_64
    generic :: write_begin => write_begin_nothing, write_begin_32, write_begin_64
    generic :: read_begin => read_begin_nothing, read_begin_32, read_begin_64
    procedure :: sync, close => close_file, file_size, truncate, describe
  end type

  !> A read or write that has begun.
  type :: penstock_handle
    private
    type(c_ptr) :: pointer = c_null_ptr
  contains
    procedure :: wait => handle_wait, test => handle_test, free => handle_free
  end type

  !> The share of a rank (from 0) of an array that is distributed as "block,cyclic(3),*" says.
  interface penstock_distribute
    module procedure distribute_32, distribute_64
  end interface

contains

  !> The type of an array's elements as NumPy writes it: "<f8" of double precision.
  function penstock_dtype(data) result(dtype)
    type(*), dimension(..), intent(in) :: data
    character(:), allocatable :: dtype
    character(dtype_size, c_char) :: text
    call c_dtype(data, text)
    dtype = trim(text)
  end function

  !> The file tells what the array is (.npy).
  subroutine open_existing(self, comm, path, mode, hints, ierror, message)
    class(penstock_file), intent(inout) :: self
    integer, intent(in) :: comm
    character(*), intent(in) :: path, mode
    character(*), intent(in), optional :: hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    character(:, c_char), allocatable :: hint_text
    call terminate(hints, hint_text)
    call finish(c_open(int(comm, c_int), trim(path) // c_null_char, trim(mode) // c_null_char, offset=0_c_int64_t, &
                       hints=hint_text, file=self%pointer), ierror, message)
  end subroutine

  subroutine open_64(self, comm, path, mode, shape, dtype, order, offset, container, hints, ierror, message)
    class(penstock_file), intent(inout) :: self
    integer, intent(in) :: comm
    character(*), intent(in) :: path, mode, dtype
    integer(c_int64_t), intent(in) :: shape(:)
    character(*), intent(in), optional :: order, container, hints
    integer(c_int64_t), intent(in), optional :: offset
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    character(:, c_char), allocatable :: order_text, container_text, hint_text
    integer(c_int64_t) :: begin
    begin = 0
    if (present(offset)) begin = offset
    call terminate(order, order_text)
    call terminate(container, container_text)
    call terminate(hints, hint_text)
    call finish(c_open(int(comm, c_int), trim(path) // c_null_char, trim(mode) // c_null_char, shape, &
                       trim(dtype) // c_null_char, order_text, begin, container_text, hint_text, self%pointer), &
                ierror, message)
  end subroutine

  subroutine open_32(self, comm, path, mode, shape, dtype, order, offset, container, hints, ierror, message)
    class(penstock_file), intent(inout) :: self
    integer, intent(in) :: comm
    character(*), intent(in) :: path, mode, dtype
    integer(c_int32_t), intent(in) :: shape(:)
    character(*), intent(in), optional :: order, container, hints
    integer(c_int64_t), intent(in), optional :: offset
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call self%open_64(comm, path, mode, int(shape, c_int64_t), dtype, order, offset, container, hints, ierror, message)
  end subroutine

  !> Collective: this rank has nothing.
  subroutine write_nothing(self, hints, ierror, message)
    class(penstock_file), intent(in) :: self
    character(*), intent(in), optional :: hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    character(:, c_char), allocatable :: hint_text
    call terminate(hints, hint_text)
    call finish(c_transfer(self%pointer, 0_c_int, hints=hint_text), ierror, message)
  end subroutine

  !> Collective: writes lower(d):upper(d):stride(d) in each dimension, block(d) neighbours at every step.
  subroutine write_64(self, data, lower, upper, stride, block, hints, ierror, message)
    class(penstock_file), intent(in) :: self
    type(*), dimension(..), intent(in), asynchronous :: data
    integer(c_int64_t), intent(in) :: lower(:), upper(:)
    integer(c_int64_t), intent(in), optional :: stride(:), block(:)
    character(*), intent(in), optional :: hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    character(:, c_char), allocatable :: hint_text
    call terminate(hints, hint_text)
    call finish(c_transfer(self%pointer, 0_c_int, data, lower, upper, stride, block, hint_text), ierror, message)
  end subroutine

  subroutine write_32(self, data, lower, upper, stride, block, hints, ierror, message)
    class(penstock_file), intent(in) :: self
    type(*), dimension(..), intent(in), asynchronous :: data
    integer(c_int32_t), intent(in) :: lower(:), upper(:)
    integer(c_int32_t), intent(in), optional :: stride(:), block(:)
    character(*), intent(in), optional :: hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    integer(c_int64_t), allocatable :: strides(:), blocks(:)
    call widen(stride, strides)
    call widen(block, blocks)
    call self%write_64(data, int(lower, c_int64_t), int(upper, c_int64_t), strides, blocks, hints, ierror, message)
  end subroutine

  !> Collective: begins what write does; handle%wait() ends it. Until then `data` stays as it is, and is asynchronous.
  subroutine write_begin_64(self, handle, data, lower, upper, stride, block, background, hints, ierror, message)
    class(penstock_file), intent(in) :: self
    type(penstock_handle), intent(out) :: handle
    type(*), dimension(..), intent(in), asynchronous :: data
    integer(c_int64_t), intent(in) :: lower(:), upper(:)
    integer(c_int64_t), intent(in), optional :: stride(:), block(:)
    character(*), intent(in), optional :: background, hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    character(:, c_char), allocatable :: background_text, hint_text
    call terminate(background, background_text)
    call terminate(hints, hint_text)
    call finish(c_begin(self%pointer, 0_c_int, data, lower, upper, stride, block, background_text, hint_text, &
                        handle%pointer), ierror, message)
  end subroutine

  subroutine write_begin_32(self, handle, data, lower, upper, stride, block, background, hints, ierror, message)
    class(penstock_file), intent(in) :: self
    type(penstock_handle), intent(out) :: handle
    type(*), dimension(..), intent(in), asynchronous :: data
    integer(c_int32_t), intent(in) :: lower(:), upper(:)
    integer(c_int32_t), intent(in), optional :: stride(:), block(:)
    character(*), intent(in), optional :: background, hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    integer(c_int64_t), allocatable :: strides(:), blocks(:)
    call widen(stride, strides)
    call widen(block, blocks)
    call self%write_begin_64(handle, data, int(lower, c_int64_t), int(upper, c_int64_t), strides, blocks, background, &
                           hints, ierror, message)
  end subroutine

  subroutine write_begin_nothing(self, handle, background, hints, ierror, message)
    class(penstock_file), intent(in) :: self
    type(penstock_handle), intent(out) :: handle
    character(*), intent(in), optional :: background, hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    character(:, c_char), allocatable :: background_text, hint_text
    call terminate(background, background_text)
    call terminate(hints, hint_text)
    call finish(c_begin(self%pointer, 0_c_int, background=background_text, hints=hint_text, &
                        handle=handle%pointer), ierror, message)
  end subroutine

  !> Collective: this rank has nothing.
  subroutine read_nothing(self, hints, ierror, message)
    class(penstock_file), intent(in) :: self
    character(*), intent(in), optional :: hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    character(:, c_char), allocatable :: hint_text
    call terminate(hints, hint_text)
    call finish(c_transfer(self%pointer, 1_c_int, hints=hint_text), ierror, message)
  end subroutine

  !> Collective: reads lower(d):upper(d):stride(d) in each dimension, block(d) neighbours at every step.
  subroutine read_64(self, data, lower, upper, stride, block, hints, ierror, message)
    class(penstock_file), intent(in) :: self
    type(*), dimension(..), intent(inout), asynchronous :: data
    integer(c_int64_t), intent(in) :: lower(:), upper(:)
    integer(c_int64_t), intent(in), optional :: stride(:), block(:)
    character(*), intent(in), optional :: hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    character(:, c_char), allocatable :: hint_text
    call terminate(hints, hint_text)
    call finish(c_transfer(self%pointer, 1_c_int, data, lower, upper, stride, block, hint_text), ierror, message)
  end subroutine

  subroutine read_32(self, data, lower, upper, stride, block, hints, ierror, message)
    class(penstock_file), intent(in) :: self
    type(*), dimension(..), intent(inout), asynchronous :: data
    integer(c_int32_t), intent(in) :: lower(:), upper(:)
    integer(c_int32_t), intent(in), optional :: stride(:), block(:)
    character(*), intent(in), optional :: hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    integer(c_int64_t), allocatable :: strides(:), blocks(:)
    call widen(stride, strides)
    call widen(block, blocks)
    call self%read_64(data, int(lower, c_int64_t), int(upper, c_int64_t), strides, blocks, hints, ierror, message)
  end subroutine

  !> Collective: begins what read does; handle%wait() ends it. Until then `data` stays as it is, and is asynchronous.
  subroutine read_begin_64(self, handle, data, lower, upper, stride, block, background, hints, ierror, message)
    class(penstock_file), intent(in) :: self
    type(penstock_handle), intent(out) :: handle
    type(*), dimension(..), intent(inout), asynchronous :: data
    integer(c_int64_t), intent(in) :: lower(:), upper(:)
    integer(c_int64_t), intent(in), optional :: stride(:), block(:)
    character(*), intent(in), optional :: background, hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    character(:, c_char), allocatable :: background_text, hint_text
    call terminate(background, background_text)
    call terminate(hints, hint_text)
    call finish(c_begin(self%pointer, 1_c_int, data, lower, upper, stride, block, background_text, hint_text, &
                        handle%pointer), ierror, message)
  end subroutine

  subroutine read_begin_32(self, handle, data, lower, upper, stride, block, background, hints, ierror, message)
    class(penstock_file), intent(in) :: self
    type(penstock_handle), intent(out) :: handle
    type(*), dimension(..), intent(inout), asynchronous :: data
    integer(c_int32_t), intent(in) :: lower(:), upper(:)
    integer(c_int32_t), intent(in), optional :: stride(:), block(:)
    character(*), intent(in), optional :: background, hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    integer(c_int64_t), allocatable :: strides(:), blocks(:)
    call widen(stride, strides)
    call widen(block, blocks)
    call self%read_begin_64(handle, data, int(lower, c_int64_t), int(upper, c_int64_t), strides, blocks, background, &
                           hints, ierror, message)
  end subroutine

  subroutine read_begin_nothing(self, handle, background, hints, ierror, message)
    class(penstock_file), intent(in) :: self
    type(penstock_handle), intent(out) :: handle
    character(*), intent(in), optional :: background, hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    character(:, c_char), allocatable :: background_text, hint_text
    call terminate(background, background_text)
    call terminate(hints, hint_text)
    call finish(c_begin(self%pointer, 1_c_int, background=background_text, hints=hint_text, &
                        handle=handle%pointer), ierror, message)
  end subroutine

  !> Collective: the bytes are on the device.
  subroutine sync(self, ierror, message)
    class(penstock_file), intent(in) :: self
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(c_sync(self%pointer), ierror, message)
  end subroutine

  !> Collective: what was written is in the file.
  subroutine close_file(self, ierror, message)
    class(penstock_file), intent(inout) :: self
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(c_close(self%pointer), ierror, message)
  end subroutine

  !> Collective: bytes of the file, with all that was written.
  subroutine file_size(self, bytes, ierror, message)
    class(penstock_file), intent(in) :: self
    integer(c_int64_t), intent(out) :: bytes
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(c_file_size(self%pointer, bytes), ierror, message)
  end subroutine

  !> Collective: sets the size of the file; what is new holds zeros.
  subroutine truncate(self, bytes, ierror, message)
    class(penstock_file), intent(in) :: self
    integer(c_int64_t), intent(in) :: bytes
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(c_truncate(self%pointer, bytes), ierror, message)
  end subroutine

  !> What the array is.
  subroutine describe(self, shape, dtype, element_size, order, ierror, message)
    class(penstock_file), intent(in) :: self
    integer(c_int64_t), allocatable, intent(out), optional :: shape(:)
    character(:), allocatable, intent(out), optional :: dtype
    integer(c_int64_t), intent(out), optional :: element_size
    character, intent(out), optional :: order
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    integer(c_int) :: dimensions, code
    integer(c_int64_t) :: extents(8), bytes
    character(longest_text, c_char) :: type_text
    character(kind=c_char) :: order_text
    dimensions = 0
    bytes = 0
    type_text = ""
    order_text = " "
    code = c_describe(self%pointer, dimensions, extents, bytes, type_text, longest_text, order_text)
    if (present(shape)) shape = extents(:dimensions)
    if (present(dtype)) dtype = trim(type_text)
    if (present(element_size)) element_size = bytes
    if (present(order)) order = order_text
    call finish(code, ierror, message)
  end subroutine

  !> Collective: ends what has begun. A handle that has ended does nothing.
  subroutine handle_wait(self, ierror, message)
    class(penstock_handle), intent(inout) :: self
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(c_wait(self%pointer), ierror, message)
  end subroutine

  !> Not collective. done: this rank's part is in the file (of a read: wait would only copy).
  subroutine handle_test(self, done, ierror, message)
    class(penstock_handle), intent(in) :: self
    logical, intent(out) :: done
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    integer(c_int) :: answer, code
    answer = 0
    code = c_test(self%pointer, answer)
    done = answer /= 0
    call finish(code, ierror, message)
  end subroutine

  !> Not collective: lets go of the handle; what has begun goes on, and close ends it.
  subroutine handle_free(self, ierror, message)
    class(penstock_handle), intent(inout) :: self
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(c_free(self%pointer), ierror, message)
  end subroutine

  subroutine distribute_64(shape, kinds, ranks, rank, lower, upper, stride, block, ierror, message)
    integer(c_int64_t), intent(in) :: shape(:)
    character(*), intent(in) :: kinds
    integer, intent(in) :: ranks, rank
    integer(c_int64_t), intent(out) :: lower(size(shape)), upper(size(shape))
    integer(c_int64_t), intent(out), optional :: stride(size(shape)), block(size(shape))
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    integer(c_int64_t) :: strides(size(shape)), blocks(size(shape))
    integer(c_int) :: code
    strides = 1
    blocks = 1
    code = c_distribute(shape, trim(kinds) // c_null_char, int(ranks, c_int64_t), int(rank, c_int64_t), lower, upper, &
                        strides, blocks)
    if (present(stride)) stride = strides
    if (present(block)) block = blocks
    call finish(code, ierror, message)
  end subroutine

  subroutine distribute_32(shape, kinds, ranks, rank, lower, upper, stride, block, ierror, message)
    integer(c_int32_t), intent(in) :: shape(:)
    character(*), intent(in) :: kinds
    integer, intent(in) :: ranks, rank
    integer(c_int32_t), intent(out) :: lower(size(shape)), upper(size(shape))
    integer(c_int32_t), intent(out), optional :: stride(size(shape)), block(size(shape))
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    integer(c_int64_t), dimension(size(shape)) :: lowers, uppers, strides, blocks
    lowers = 1
    uppers = 0
    call distribute_64(int(shape, c_int64_t), kinds, ranks, rank, lowers, uppers, strides, blocks, ierror, message)
    lower = int(lowers, c_int32_t)
    upper = int(uppers, c_int32_t)
    if (present(stride)) stride = int(strides, c_int32_t)
    if (present(block)) block = int(blocks, c_int32_t)
  end subroutine
end module penstock
