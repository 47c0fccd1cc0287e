!> What has begun and what has several parts: handles, closing in two halves, and calls of several sections.
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

  !> Several sections with their memory, for one call. The arrays are targets, and stay until the call (of one in two
  !> halves: handle%wait) is over.
  type :: penstock_parts
    private
    integer :: count = 0
    integer(c_int64_t), allocatable :: records(:)
  contains
    procedure, private :: add_32, add_64
    generic :: add => add_32, add_64
    procedure :: clear
  end type

  !> An open file, as far as calls of several parts and closing in two halves go.
  type, extends(penstock_opened) :: penstock_in_parts
  contains
    procedure :: write_parts, read_parts, write_parts_begin, read_parts_begin, close_begin
  end type

contains

  !> One more: lower(d):upper(d):stride(d) in each dimension, block(d) neighbours at every step. What is wrong with it
  !> the call finds.
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

  !> There are none any more.
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

  !> Collective: begins what write_parts does; handle%wait() ends it.
  subroutine write_parts_begin(self, handle, parts, background, hints, ierror, message)
    class(penstock_in_parts), intent(in) :: self
    type(penstock_handle), intent(out) :: handle
    type(penstock_parts), intent(in) :: parts
    character(*), intent(in), optional :: background, hints
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(begun(self, 0_c_int, parts, background, hints, handle), ierror, message)
  end subroutine

  !> Collective: begins what read_parts does; handle%wait() ends it.
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

  !> For the call, which fills in what they point at.
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
end module penstock_several
