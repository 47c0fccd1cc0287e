!> Base type of penstock_file in the module penstock: opening and closing, the array's description, and its attributes.
module penstock_files
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_int, c_int8_t, c_int32_t, c_int64_t, c_null_char, &
                                         c_null_ptr, c_ptr
  use penstock_calls, only: c_attributes, c_close, c_describe, c_file_size, c_last_call, c_last_method, c_open, &
                            c_set_attributes, c_statistic, c_sync, c_truncate, finish, longest_text, terminate, text_at
  implicit none
  private
  public :: penstock_chunks, penstock_opened

  !> For the slowest dimension in an array's shape (the last in order F, the first in order C, which Zarr arrays have): its
  !> length in the file, 0 in a new one; each append increases it.
  integer, parameter, public :: penstock_unlimited = -1

  !> How a Zarr array is divided into chunks, and how these are stored. Unallocated components are chosen, or absent.
  type :: penstock_chunks
    integer(c_int64_t), allocatable :: chunks(:), shards(:)  !< extents of a chunk, and of a file of several chunks
    character(:), allocatable :: compressors                 !< names with levels, "zstd:3" or "blosc:5,crc32c"
    integer(c_int8_t), allocatable :: fill_value(:)          !< bytes of an element: transfer(-1d0, [0_int8])
    character(:), allocatable :: dimension_names             !< "y,x"
    character(:), allocatable :: attributes                  !< a JSON object
  end type

  !> An open file, except for reading and writing.
  type :: penstock_opened
    type(c_ptr) :: pointer = c_null_ptr  !< a penstock_file of C; null: closed
  contains
    procedure, private :: open_existing, open_32, open_64
    generic :: open => open_existing, open_32, open_64
    procedure :: sync, close => close_file, file_size, truncate, describe, attributes, set_attributes
    procedure :: statistic, last_call, last_method
  end type

contains

  !> The file describes the array (.npy).
  subroutine open_existing(self, comm, path, mode, hints, ierror, message)
    class(penstock_opened), intent(inout) :: self
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

  subroutine open_64(self, comm, path, mode, shape, dtype, order, offset, container, hints, chunks, ierror, message)
    class(penstock_opened), intent(inout) :: self
    integer, intent(in) :: comm
    character(*), intent(in) :: path, mode, dtype
    integer(c_int64_t), intent(in) :: shape(:)
    character(*), intent(in), optional :: order, container, hints
    integer(c_int64_t), intent(in), optional :: offset
    type(penstock_chunks), intent(in), optional :: chunks
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    character(:, c_char), allocatable :: order_text, container_text, hint_text, compressors, names, attributes
    type(penstock_chunks) :: how
    integer(c_int64_t) :: begin
    begin = 0
    if (present(offset)) begin = offset
    call terminate(order, order_text)
    call terminate(container, container_text)
    call terminate(hints, hint_text)
    if (present(chunks)) how = chunks
    call terminate(how%compressors, compressors)
    call terminate(how%dimension_names, names)
    call terminate(how%attributes, attributes)
    call finish(c_open(int(comm, c_int), trim(path) // c_null_char, trim(mode) // c_null_char, shape, &
                       trim(dtype) // c_null_char, order_text, begin, container_text, hint_text, how%chunks, how%shards, &
                       compressors, how%fill_value, names, attributes, self%pointer), ierror, message)
  end subroutine

  subroutine open_32(self, comm, path, mode, shape, dtype, order, offset, container, hints, chunks, ierror, message)
    class(penstock_opened), intent(inout) :: self
    integer, intent(in) :: comm
    character(*), intent(in) :: path, mode, dtype
    integer(c_int32_t), intent(in) :: shape(:)
    character(*), intent(in), optional :: order, container, hints
    integer(c_int64_t), intent(in), optional :: offset
    type(penstock_chunks), intent(in), optional :: chunks
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call self%open_64(comm, path, mode, int(shape, c_int64_t), dtype, order, offset, container, hints, chunks, ierror, message)
  end subroutine

  !> Collective: on return, the bytes are on the device.
  subroutine sync(self, ierror, message)
    class(penstock_opened), intent(in) :: self
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(c_sync(self%pointer), ierror, message)
  end subroutine

  !> Collective: on return, everything written is in the file.
  subroutine close_file(self, ierror, message)
    class(penstock_opened), intent(inout) :: self
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(c_close(self%pointer), ierror, message)
  end subroutine

  !> Collective: the size of the file in bytes, including everything written.
  subroutine file_size(self, bytes, ierror, message)
    class(penstock_opened), intent(in) :: self
    integer(c_int64_t), intent(out) :: bytes
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(c_file_size(self%pointer, bytes), ierror, message)
  end subroutine

  !> Collective: sets the size of the file; new bytes are zeros.
  subroutine truncate(self, bytes, ierror, message)
    class(penstock_opened), intent(in) :: self
    integer(c_int64_t), intent(in) :: bytes
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(c_truncate(self%pointer, bytes), ierror, message)
  end subroutine

  !> Description of the array.
  subroutine describe(self, shape, dtype, element_size, order, ierror, message)
    class(penstock_opened), intent(in) :: self
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

  !> A count or a time of this rank since the file was opened, by its name in docs/statistics.md.
  subroutine statistic(self, name, value, ierror, message)
    class(penstock_opened), intent(in) :: self
    character(*), intent(in) :: name
    double precision, intent(out) :: value
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    value = 0
    call finish(c_statistic(self%pointer, trim(name) // c_null_char, value), ierror, message)
  end subroutine

  !> The same for its last read or write alone.
  subroutine last_call(self, name, value, ierror, message)
    class(penstock_opened), intent(in) :: self
    character(*), intent(in) :: name
    double precision, intent(out) :: value
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    value = 0
    call finish(c_last_call(self%pointer, trim(name) // c_null_char, value), ierror, message)
  end subroutine

  !> The method of its last read or write, as chosen by "auto".
  subroutine last_method(self, method, ierror, message)
    class(penstock_opened), intent(in) :: self
    character(*), intent(out) :: method
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(c_last_method(self%pointer, method, len(method)), ierror, message)
  end subroutine

  !> Collective: the attributes of the array, a JSON object; "" if it has none.
  subroutine attributes(self, json, ierror, message)
    class(penstock_opened), intent(in) :: self
    character(:), allocatable, intent(out) :: json
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    type(c_ptr) :: text
    integer(c_int) :: code
    text = c_null_ptr
    code = c_attributes(self%pointer, text)
    json = ""
    if (code == 0 .and. c_associated(text)) json = text_at(text)
    call finish(code, ierror, message)
  end subroutine

  !> Collective: replaces the attributes as a whole by those of a JSON object.
  subroutine set_attributes(self, json, ierror, message)
    class(penstock_opened), intent(in) :: self
    character(*), intent(in) :: json
    integer, intent(out), optional :: ierror
    character(*), intent(out), optional :: message
    call finish(c_set_attributes(self%pointer, trim(json) // c_null_char), ierror, message)
  end subroutine
end module penstock_files
