!> The Fortran interface: an n-dimensional array in one shared file, read and written by all ranks together.
!>
!> Communicators are integers: `comm%mpi_val` of mpi_f08, or those of `use mpi` and mpif.h. Sections are 1-based with their
!> upper bounds included. Without `ierror`, an error ends the program with its text.
module penstock
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int32_t, c_int64_t, c_null_char
  use penstock_calls, only: c_append, c_begin, c_distribute, c_dtype, c_read_share, c_transfer, finish, longest_refusal, &
                            terminate, widen
  use penstock_files, only: penstock_chunks, penstock_unlimited
  use penstock_several, only: penstock_handle, penstock_in_parts, penstock_parts
  implicit none
  private
  public :: penstock_file, penstock_handle, penstock_parts, penstock_chunks, penstock_unlimited, penstock_dtype, penstock_distribute

  integer, parameter, public :: penstock_success = 0, penstock_error_argument = 1, penstock_error_section = 2, &
                                penstock_error_disagreement = 3, penstock_error_format = 4, penstock_error_state = 5, &
                                penstock_error_storage = 6, penstock_error_internal = 7
  integer, parameter :: dtype_size = 32

  !> An open file.
  type, extends(penstock_in_parts) :: penstock_file
  contains
    procedure, private :: write_nothing, write_32, write_64, read_nothing, read_32, read_64
    procedure, private :: write_begin_nothing, write_begin_32, write_begin_64
    procedure, private :: read_begin_nothing, read_begin_32, read_begin_64
    procedure, private :: append_nothing, append_32, append_64
    generic :: write => write_nothing, write_32, write_64
    generic :: read => read_nothing, read_32, read_64
    generic :: write_begin => write_begin_nothing, write_begin_32, write_begin_64
    generic :: read_begin => read_begin_nothing, read_begin_32, read_begin_64
    generic :: append => append_nothing, append_32, append_64
    procedure :: read_share
  end type

  !> The share of a rank (from 0) of an array with the distribution "block,cyclic(3),*".
  interface penstock_distribute
    module procedure distribute_32, distribute_64
  end interface

contains

  !> The NumPy name of an array's type: "<f8" for double precision.
  function penstock_dtype(data) result(dtype)
    type(*), dimension(..), intent(in) :: data
    character(:), allocatable :: dtype
    character(dtype_size, c_char) :: text
    call c_dtype(data, text)
    dtype = trim(text)
  end function

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

  !> Collective: begins a write; handle%wait() ends it. Until then `data` must not change, and is asynchronous.
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

  !> Collective: begins a read; handle%wait() ends it. Until then `data` must not be used, and is asynchronous.
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

  !> Collective: extends the array by one step, without data of this rank.
  subroutine append_nothing(self, hints, ierror, message)
    class(penstock_file), intent(in) :: self
    character(*), intent(in), optional :: hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    character(:, c_char), allocatable :: hint_text
    call terminate(hints, hint_text)
    call finish(c_append(self%pointer, hints=hint_text), ierror, message)
  end subroutine

  !> Collective: extends the array by one step along its slowest dimension. Bounds are those of the other dimensions.
  subroutine append_64(self, data, lower, upper, stride, block, hints, ierror, message)
    class(penstock_file), intent(in) :: self
    type(*), dimension(..), intent(in), asynchronous :: data
    integer(c_int64_t), intent(in) :: lower(:), upper(:)
    integer(c_int64_t), intent(in), optional :: stride(:), block(:)
    character(*), intent(in), optional :: hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    character(:, c_char), allocatable :: hint_text
    call terminate(hints, hint_text)
    call finish(c_append(self%pointer, data, lower, upper, stride, block, hint_text), ierror, message)
  end subroutine

  subroutine append_32(self, data, lower, upper, stride, block, hints, ierror, message)
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
    call self%append_64(data, int(lower, c_int64_t), int(upper, c_int64_t), strides, blocks, hints, ierror, message)
  end subroutine

  !> Collective: this rank's block of the array and the halo around it into all of `data`, see penstock_distribute.
  subroutine read_share(self, data, kinds, ranks, rank, halo, periodic, frame, ierror, message)
    class(penstock_file), intent(in) :: self
    type(*), dimension(..), intent(inout) :: data
    character(*), intent(in) :: kinds
    integer, intent(in) :: ranks, rank
    integer, intent(in), optional :: halo(:)
    logical, intent(in), optional :: periodic(:), frame
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(c_read_share(self%pointer, data, trim(kinds) // c_null_char, int(ranks, c_int64_t), int(rank, c_int64_t), &
                             widths(halo), flags(periodic), flag(frame)), ierror, message)
  end subroutine

  !> A halo's values for C; empty if there are none.
  function widths(halo)
    integer, intent(in), optional :: halo(:)
    integer(c_int64_t), allocatable :: widths(:)
    allocate(widths(0))
    if (present(halo)) widths = int(halo, c_int64_t)
  end function

  function flags(values)
    logical, intent(in), optional :: values(:)
    integer(c_int64_t), allocatable :: flags(:)
    allocate(flags(0))
    if (present(values)) flags = merge(1_c_int64_t, 0_c_int64_t, values)
  end function

  integer(c_int) function flag(value)
    logical, intent(in), optional :: value
    flag = 0
    if (present(value)) flag = merge(1_c_int, 0_c_int, value)
  end function

  !> `before`, `after`: halo cells on both sides, so that local(lower - before:upper + after) has everything.
  subroutine distribute_64(shape, kinds, ranks, rank, lower, upper, stride, block, halo, periodic, frame, before, after, &
                           ierror, message)
    integer(c_int64_t), intent(in) :: shape(:)
    character(*), intent(in) :: kinds
    integer, intent(in) :: ranks, rank
    integer(c_int64_t), intent(out) :: lower(size(shape)), upper(size(shape))
    integer(c_int64_t), intent(out), optional :: stride(size(shape)), block(size(shape))
    integer, intent(in), optional :: halo(:)
    logical, intent(in), optional :: periodic(:), frame
    integer(c_int64_t), intent(out), optional :: before(size(shape)), after(size(shape))
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    integer(c_int64_t), dimension(size(shape)) :: strides, blocks, befores, afters
    character(longest_refusal) :: refusal
    integer(c_int) :: code
    strides = 1
    blocks = 1
    befores = 0
    afters = 0
    code = c_distribute(shape, trim(kinds) // c_null_char, int(ranks, c_int64_t), int(rank, c_int64_t), lower, upper, &
                        strides, blocks, widths(halo), flags(periodic), flag(frame), befores, afters, refusal)
    if (present(stride)) stride = strides
    if (present(block)) block = blocks
    if (present(before)) before = befores
    if (present(after)) after = afters
    call finish(code, ierror, message, refusal)
  end subroutine

  subroutine distribute_32(shape, kinds, ranks, rank, lower, upper, stride, block, halo, periodic, frame, before, after, &
                           ierror, message)
    integer(c_int32_t), intent(in) :: shape(:)
    character(*), intent(in) :: kinds
    integer, intent(in) :: ranks, rank
    integer(c_int32_t), intent(out) :: lower(size(shape)), upper(size(shape))
    integer(c_int32_t), intent(out), optional :: stride(size(shape)), block(size(shape))
    integer, intent(in), optional :: halo(:)
    logical, intent(in), optional :: periodic(:), frame
    integer(c_int32_t), intent(out), optional :: before(size(shape)), after(size(shape))
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    integer(c_int64_t), dimension(size(shape)) :: lowers, uppers, strides, blocks, befores, afters
    lowers = 1
    uppers = 0
    call distribute_64(int(shape, c_int64_t), kinds, ranks, rank, lowers, uppers, strides, blocks, halo, periodic, frame, &
                       befores, afters, ierror, message)
    lower = int(lowers, c_int32_t)
    upper = int(uppers, c_int32_t)
    if (present(stride)) stride = int(strides, c_int32_t)
    if (present(block)) block = int(blocks, c_int32_t)
    if (present(before)) before = int(befores, c_int32_t)
    if (present(after)) after = int(afters, c_int32_t)
  end subroutine
end module penstock
