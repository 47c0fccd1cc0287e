!> Basis of the module penstock: the functions in calls.c and penstock/penstock.h, strings and errors.
module penstock_calls
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_f_pointer, c_int, c_int8_t, c_int32_t, c_int64_t, c_null_char, &
                                         c_ptr, c_size_t
  implicit none
  public

  integer, parameter :: longest_text = 1000, longest_refusal = 300

  interface
    function c_open(comm, path, mode, shape, dtype, order, offset, container, hints, chunks, shards, compressors, &
                    fill_value, dimension_names, attributes, file) bind(c, name="penstock_fortran_open")
      import
      integer(c_int), value :: comm
      character(kind=c_char), intent(in) :: path(*), mode(*)
      integer(c_int64_t), intent(in), optional :: shape(:), chunks(:), shards(:)
      character(kind=c_char), intent(in), optional :: dtype(*), order(*), container(*), hints(*), compressors(*), &
                                                      dimension_names(*), attributes(*)
      integer(c_int8_t), intent(in), optional :: fill_value(:)
      integer(c_int64_t), value :: offset
      type(c_ptr), intent(inout) :: file
      integer(c_int) :: c_open
    end function
    function c_transfer(file, reading, data, lower, upper, stride, block, hints) &
        bind(c, name="penstock_fortran_transfer")
      import
      type(c_ptr), value :: file
      integer(c_int), value :: reading
      type(*), dimension(..), intent(in), optional, asynchronous :: data
      integer(c_int64_t), intent(in), optional :: lower(:), upper(:), stride(:), block(:)
      character(kind=c_char), intent(in), optional :: hints(*)
      integer(c_int) :: c_transfer
    end function
    function c_append(file, data, lower, upper, stride, block, hints) &
        bind(c, name="penstock_fortran_append")
      import
      type(c_ptr), value :: file
      type(*), dimension(..), intent(in), optional, asynchronous :: data
      integer(c_int64_t), intent(in), optional :: lower(:), upper(:), stride(:), block(:)
      character(kind=c_char), intent(in), optional :: hints(*)
      integer(c_int) :: c_append
    end function
    function c_read_share(file, data, kinds, ranks, rank, width, periodic, frame) &
        bind(c, name="penstock_fortran_read_share")
      import
      type(c_ptr), value :: file
      type(*), dimension(..), intent(in) :: data
      character(kind=c_char), intent(in) :: kinds(*)
      integer(c_int64_t), value :: ranks, rank
      integer(c_int64_t), intent(in) :: width(:), periodic(:)
      integer(c_int), value :: frame
      integer(c_int) :: c_read_share
    end function
    function c_attributes(file, json) &
        bind(c, name="penstock_attributes")
      import
      type(c_ptr), value :: file
      type(c_ptr), intent(inout) :: json
      integer(c_int) :: c_attributes
    end function
    function c_set_attributes(file, json) &
        bind(c, name="penstock_set_attributes")
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: json(*)
      integer(c_int) :: c_set_attributes
    end function
    function c_length(text) &
        bind(c, name="strlen")
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: c_length
    end function
    function c_begin(file, reading, data, lower, upper, stride, block, background, hints, handle) &
        bind(c, name="penstock_fortran_begin")
      import
      type(c_ptr), value :: file
      integer(c_int), value :: reading
      type(*), dimension(..), intent(in), optional, asynchronous :: data
      integer(c_int64_t), intent(in), optional :: lower(:), upper(:), stride(:), block(:)
      character(kind=c_char), intent(in), optional :: background(*), hints(*)
      type(c_ptr), intent(out) :: handle
      integer(c_int) :: c_begin
    end function
    function c_part_words() bind(c, name="penstock_fortran_part_words")
      import
      integer(c_int) :: c_part_words
    end function
    subroutine c_put_part(record, data, lower, upper, stride, block) bind(c, name="penstock_fortran_put_part")
      import
      integer(c_int64_t), intent(out) :: record(*)
      type(*), dimension(..), intent(in), asynchronous :: data
      integer(c_int64_t), intent(in) :: lower(:), upper(:)
      integer(c_int64_t), intent(in), optional :: stride(:), block(:)
    end subroutine
    function c_transfer_parts(file, reading, count, records, hints) &
        bind(c, name="penstock_fortran_transfer_parts")
      import
      type(c_ptr), value :: file
      integer(c_int), value :: reading, count
      integer(c_int64_t), intent(inout) :: records(*)
      character(kind=c_char), intent(in), optional :: hints(*)
      integer(c_int) :: c_transfer_parts
    end function
    function c_begin_parts(file, reading, count, records, background, hints, handle) &
        bind(c, name="penstock_fortran_begin_parts")
      import
      type(c_ptr), value :: file
      integer(c_int), value :: reading, count
      integer(c_int64_t), intent(inout) :: records(*)
      character(kind=c_char), intent(in), optional :: background(*), hints(*)
      type(c_ptr), intent(out) :: handle
      integer(c_int) :: c_begin_parts
    end function
    function c_close_begin(file, handle) &
        bind(c, name="penstock_close_begin")
      import
      type(c_ptr), intent(inout) :: file
      type(c_ptr), intent(out) :: handle
      integer(c_int) :: c_close_begin
    end function
    function c_statistic(file, name, value) &
        bind(c, name="penstock_statistic")
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), intent(inout) :: value
      integer(c_int) :: c_statistic
    end function
    function c_last_call(file, name, value) &
        bind(c, name="penstock_last_call")
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), intent(inout) :: value
      integer(c_int) :: c_last_call
    end function
    function c_last_method(file, method, size) &
        bind(c, name="penstock_fortran_last_method")
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(out) :: method(*)
      integer(c_int), value :: size
      integer(c_int) :: c_last_method
    end function
    function c_close(file) &
        bind(c, name="penstock_close")
      import
      type(c_ptr), intent(inout) :: file
      integer(c_int) :: c_close
    end function
    function c_sync(file) &
        bind(c, name="penstock_sync")
      import
      type(c_ptr), value :: file
      integer(c_int) :: c_sync
    end function
    function c_file_size(file, bytes) &
        bind(c, name="penstock_file_size")
      import
      type(c_ptr), value :: file
      integer(c_int64_t), intent(out) :: bytes
      integer(c_int) :: c_file_size
    end function
    function c_truncate(file, bytes) &
        bind(c, name="penstock_truncate")
      import
      type(c_ptr), value :: file
      integer(c_int64_t), value :: bytes
      integer(c_int) :: c_truncate
    end function
    function c_describe(file, dimensions, shape, element_size, dtype, dtype_size, order) &
        bind(c, name="penstock_fortran_describe")
      import
      type(c_ptr), value :: file
      integer(c_int), intent(out) :: dimensions
      integer(c_int64_t), intent(out) :: shape(8), element_size
      integer(c_int), value :: dtype_size
      character(kind=c_char), intent(out) :: dtype(*), order
      integer(c_int) :: c_describe
    end function
    function c_wait(handle) &
        bind(c, name="penstock_handle_wait")
      import
      type(c_ptr), intent(inout) :: handle
      integer(c_int) :: c_wait
    end function
    function c_test(handle, done) &
        bind(c, name="penstock_handle_test")
      import
      type(c_ptr), value :: handle
      integer(c_int), intent(out) :: done
      integer(c_int) :: c_test
    end function
    function c_free(handle) &
        bind(c, name="penstock_handle_free")
      import
      type(c_ptr), intent(inout) :: handle
      integer(c_int) :: c_free
    end function
    function c_distribute(shape, kinds, ranks, rank, lower, upper, stride, block, width, periodic, frame, before, &
                          after, refusal) bind(c, name="penstock_fortran_distribute")
      import
      integer(c_int64_t), intent(in) :: shape(:)
      character(kind=c_char), intent(in) :: kinds(*)
      integer(c_int64_t), value :: ranks, rank
      integer(c_int64_t), intent(inout) :: lower(:), upper(:), stride(:), block(:), before(:), after(:)
      integer(c_int64_t), intent(in) :: width(:), periodic(:)
      integer(c_int), value :: frame
      character(kind=c_char), intent(out) :: refusal(*)
      integer(c_int) :: c_distribute
    end function
    subroutine c_error_text(text, size) &
        bind(c, name="penstock_fortran_error_text")
      import
      character(kind=c_char), intent(out) :: text(*)
      integer(c_int), value :: size
    end subroutine
    subroutine c_dtype(data, text) &
        bind(c, name="penstock_fortran_dtype_of")
      import
      type(*), dimension(..), intent(in) :: data
      character(kind=c_char), intent(out) :: text(*)
    end subroutine
  end interface

contains

  !> Strips trailing blanks and appends a NUL; not allocated if the text is absent, which is NULL in C.
  subroutine terminate(text, terminated)
    character(*), intent(in), optional :: text
    character(:, c_char), allocatable, intent(out) :: terminated
    if (present(text)) terminated = trim(text) // c_null_char
  end subroutine

  !> Converts numbers for the C interface; not allocated if absent.
  subroutine widen(numbers, widened)
    integer(c_int32_t), intent(in), optional :: numbers(:)
    integer(c_int64_t), allocatable, intent(out) :: widened(:)
    if (present(numbers)) widened = int(numbers, c_int64_t)
  end subroutine

  !> Converts a C string.
  function text_at(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(pointer, letters, [c_length(pointer)])
    allocate(character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  !> `refusal`: an error found before the call; blank: none.
  subroutine finish(code, ierror, message, refusal)
    integer(c_int), intent(in) :: code
    character(*), intent(in), optional :: refusal
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    character(longest_text) :: text
    text = ""
    if (code /= 0) call c_error_text(text, longest_text)
    if (present(refusal)) then
      if (refusal /= "") text = refusal
    end if
    if (present(message)) message = text
    if (present(ierror)) ierror = code
    if (code /= 0 .and. .not. present(ierror)) error stop "penstock: " // trim(text)
  end subroutine

end module penstock_calls
