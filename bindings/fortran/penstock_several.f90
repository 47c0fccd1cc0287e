!> Handles, close with begin and wait, and calls with several sections.
module penstock_several
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int32_t, c_int64_t, c_null_ptr, c_ptr
  use penstock_calls, only: c_begin_parts, c_close_begin, c_free, c_part_words, c_put_part, c_test, c_transfer_parts, c_wait, &
                            finish, terminate, widen
  use penstock_files, only: penstock_opened
  implicit none
  private
  public :: penstock_handle, penstock_in_parts, penstock_parts

  !> A read, write or close that has begun.
  type :: penstock_handle
    type(c_ptr) :: pointer = c_null_ptr  !< a penstock_handle of C
  contains
    procedure :: wait => handle_wait, test => handle_test, free => handle_free
  end type

  !> Several sections with their memory, for one call. The arrays are targets, and must exist until the end of the call (or
  !> of handle%wait).
  type :: penstock_parts
    private
    integer :: count = 0
    integer(c_int64_t), allocatable :: records(:)
  contains
    procedure, private :: add_32, add_64
    generic :: add => add_32, add_64
    procedure :: clear
  end type

  !> An open file, with calls for several parts, and close with begin and wait.
  type, extends(penstock_opened) :: penstock_in_parts
  contains
    procedure :: write_parts, read_parts, write_parts_begin, read_parts_begin, close_begin
  end type

contains

  !> One more: lower(d):upper(d):stride(d) in each dimension, block(d) neighbours at every step. Errors in it are
  !> reported by the call.
  subroutine add_64(self, data, lower, upper, stride, block)
    class(penstock_parts), intent(inout) :: self
    type(*), dimension(..), intent(in), target, asynchronous :: data
    integer(c_int64_t), intent(in) :: lower(:), upper(:)
    integer(c_int64_t), intent(in), optional :: stride(:), block(:)
    integer(c_int64_t), allocatable :: longer(:)
    integer :: words
    words = c_part_words()
    allocate(longer((self%count + 1) * words))
    if (self%count > 0) longer(:self%count * words) = self%records(:self%count * words)
    call c_put_part(longer(self%count * words + 1:), data, lower, upper, stride, block)
    call move_alloc(longer, self%records)
    self%count = self%count + 1
  end subroutine

  subroutine add_32(self, data, lower, upper, stride, block)
    class(penstock_parts), intent(inout) :: self
    type(*), dimension(..), intent(in), target, asynchronous :: data
    integer(c_int32_t), intent(in) :: lower(:), upper(:)
    integer(c_int32_t), intent(in), optional :: stride(:), block(:)
    integer(c_int64_t), allocatable :: strides(:), blocks(:)
    call widen(stride, strides)
    call widen(block, blocks)
    call self%add_64(data, int(lower, c_int64_t), int(upper, c_int64_t), strides, blocks)
  end subroutine

  !> Removes all parts.
  subroutine clear(self)
    class(penstock_parts), intent(inout) :: self
    self%count = 0
    if (allocated(self%records)) deallocate(self%records)
  end subroutine

  !> Collective: writes all parts; where they overlap, the highest rank and its last part win.
  subroutine write_parts(self, parts, hints, ierror, message)
    class(penstock_in_parts), intent(in) :: self
    type(penstock_parts), intent(in) :: parts
    character(*), intent(in), optional :: hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(transferred(self, 0_c_int, parts, hints), ierror, message)
  end subroutine

  !> Collective: reads all parts.
  subroutine read_parts(self, parts, hints, ierror, message)
    class(penstock_in_parts), intent(in) :: self
    type(penstock_parts), intent(in) :: parts
    character(*), intent(in), optional :: hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(transferred(self, 1_c_int, parts, hints), ierror, message)
  end subroutine

  !> Collective: begins write_parts; handle%wait() ends it.
  subroutine write_parts_begin(self, handle, parts, background, hints, ierror, message)
    class(penstock_in_parts), intent(in) :: self
    type(penstock_handle), intent(out) :: handle
    type(penstock_parts), intent(in) :: parts
    character(*), intent(in), optional :: background, hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(begun(self, 0_c_int, parts, background, hints, handle), ierror, message)
  end subroutine

  !> Collective: begins read_parts; handle%wait() ends it.
  subroutine read_parts_begin(self, handle, parts, background, hints, ierror, message)
    class(penstock_in_parts), intent(in) :: self
    type(penstock_handle), intent(out) :: handle
    type(penstock_parts), intent(in) :: parts
    character(*), intent(in), optional :: background, hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(begun(self, 1_c_int, parts, background, hints, handle), ierror, message)
  end subroutine

  integer(c_int) function transferred(self, reading, parts, hints)
    class(penstock_in_parts), intent(in) :: self
    integer(c_int), intent(in) :: reading
    type(penstock_parts), intent(in) :: parts
    character(*), intent(in), optional :: hints
    character(:, c_char), allocatable :: hint_text
    integer(c_int64_t), allocatable :: records(:)
    call terminate(hints, hint_text)
    call copy_records(parts, records)
    transferred = c_transfer_parts(self%pointer, reading, int(parts%count, c_int), records, hint_text)
  end function

  integer(c_int) function begun(self, reading, parts, background, hints, handle)
    class(penstock_in_parts), intent(in) :: self
    integer(c_int), intent(in) :: reading
    type(penstock_parts), intent(in) :: parts
    character(*), intent(in), optional :: background, hints
    type(penstock_handle), intent(inout) :: handle
    character(:, c_char), allocatable :: background_text, hint_text
    integer(c_int64_t), allocatable :: records(:)
    call terminate(background, background_text)
    call terminate(hints, hint_text)
    call copy_records(parts, records)
    begun = c_begin_parts(self%pointer, reading, int(parts%count, c_int), records, background_text, hint_text, handle%pointer)
  end function

  !> For the call, which fills in the pointers.
  subroutine copy_records(parts, records)
    type(penstock_parts), intent(in) :: parts
    integer(c_int64_t), allocatable, intent(out) :: records(:)
    allocate(records(max(1, parts%count * c_part_words())))
    if (parts%count > 0) records = parts%records
  end subroutine

  !> Collective: the file counts as closed at once; its data is in the file after handle%wait().
  subroutine close_begin(self, handle, ierror, message)
    class(penstock_in_parts), intent(inout) :: self
    type(penstock_handle), intent(out) :: handle
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(c_close_begin(self%pointer, handle%pointer), ierror, message)
  end subroutine

  !> Collective: ends the operation. Does nothing if it has ended.
  subroutine handle_wait(self, ierror, message)
    class(penstock_handle), intent(inout) :: self
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(c_wait(self%pointer), ierror, message)
  end subroutine

  !> Not collective. done: this rank's part is in the file (for a read: wait would only copy).
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

  !> Not collective: releases the handle; the operation continues, and close ends it.
  subroutine handle_free(self, ierror, message)
    class(penstock_handle), intent(inout) :: self
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(c_free(self%pointer), ierror, message)
  end subroutine
end module penstock_several
