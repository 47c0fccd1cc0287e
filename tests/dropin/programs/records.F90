! Records in a file: by a view, by explicit offsets, with the shared file pointer, split, and non-blocking.
! Compiled with FORM_MPIF_H, FORM_MPI or FORM_MPI_F08, one for each way in which Fortran has MPI.
#if defined(FORM_MPI_F08)
#define HANDLE(kind) type(kind)
#define STATUS(name) type(MPI_Status) :: name
#else
#define HANDLE(kind) integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#endif
#if defined(FORM_MPIF_H)
#define USE_MPI
#define INCLUDE_MPI include 'mpif.h'
#elif defined(FORM_MPI)
#define USE_MPI use mpi
#define INCLUDE_MPI
#else
#define USE_MPI use mpi_f08
#define INCLUDE_MPI
#endif

program records
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, parameter :: length = 40, blocks = 25
  integer :: rank, ranks, ierr, wrong, all_wrong
  wrong = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call columns()
  call ordered()
  call without_waiting()
  call errors()
  call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(I0, A)', all_wrong, ' checks have failed'
  if (all_wrong /= 0) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  call MPI_Finalize(ierr)

contains

  subroutine expect(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (right) return
    wrong = wrong + 1
    print '(A, I0, 2A)', 'rank ', rank, ': ', what
  end subroutine expect

  double precision function value_at(row, column)
    integer, intent(in) :: row, column
    value_at = 1000 * column + row
  end function value_at

  ! Each rank has every ranks-th row of an array of length * ranks rows, in Fortran's order: a view with a vector.
  subroutine columns()
    HANDLE(MPI_File) :: file
    HANDLE(MPI_Datatype) :: rows
    STATUS(status)
    integer(kind=MPI_OFFSET_KIND) :: displacement, offset, bytes
    double precision :: mine(length, blocks)
    integer :: i, j, count
    call MPI_File_open(MPI_COMM_WORLD, 'columns.bin', ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, file, ierr)
    call expect(ierr == MPI_SUCCESS, 'opening columns.bin')
    call MPI_Type_vector(length * blocks, 1, ranks, MPI_DOUBLE_PRECISION, rows, ierr)
    call MPI_Type_commit(rows, ierr)
    displacement = 8 * rank
    call MPI_File_set_view(file, displacement, MPI_DOUBLE_PRECISION, rows, 'native', MPI_INFO_NULL, ierr)
    call MPI_Type_free(rows, ierr)
    do j = 1, blocks
      do i = 1, length
        mine(i, j) = value_at((i - 1) * ranks + rank, j)
      end do
    end do
    call MPI_File_write_all(file, mine, length * blocks, MPI_DOUBLE_PRECISION, status, ierr)
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, ierr)
    call expect(count == length * blocks, 'the count of a collective write')
    call MPI_File_get_position(file, offset, ierr)
    call expect(offset == length * blocks, 'the position after a collective write')
    call columns_again(file, mine)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_File_get_size(file, bytes, ierr)
    call expect(bytes == 8_MPI_OFFSET_KIND * length * blocks * ranks, 'the size of columns.bin')
    call MPI_File_close(file, ierr)
    call expect(file == MPI_FILE_NULL, 'the handle after closing')
  end subroutine columns

  subroutine columns_again(file, mine)
    HANDLE(MPI_File), intent(in) :: file
    double precision, intent(in) :: mine(length, blocks)
    HANDLE(MPI_Datatype) :: etype, filetype
    STATUS(status)
    integer(kind=MPI_OFFSET_KIND) :: displacement, offset
    double precision, asynchronous :: again(length, blocks)
    character(len=MPI_MAX_DATAREP_STRING) :: representation
    call MPI_File_get_view(file, displacement, etype, filetype, representation, ierr)
    call expect(displacement == 8 * rank .and. representation == 'native', 'the view')
    again = -1
    offset = 0
    call MPI_File_read_at_all_begin(file, offset, again, length * blocks, MPI_DOUBLE_PRECISION, ierr)
    call MPI_File_read_at_all_end(file, again, status, ierr)
    call expect(all(again == mine), 'what was read in halves')
    again = -1
    offset = 5 * length
    call MPI_File_seek(file, offset, MPI_SEEK_SET, ierr)
    call MPI_File_read(file, again(1, 6), length, MPI_DOUBLE_PRECISION, status, ierr)
    call expect(all(again(:, 6) == mine(:, 6)) .and. all(again(:, 7) == -1), 'a column')
  end subroutine columns_again

  ! Records of different lengths, in the order of the ranks.
  subroutine ordered()
    HANDLE(MPI_File) :: file
    STATUS(status)
    integer(kind=MPI_OFFSET_KIND) :: offset
    integer :: mine(rank + 3), again(rank + 3), total, round, count
    call MPI_File_open(MPI_COMM_WORLD, 'ordered.bin', ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, file, ierr)
    offset = 0
    call MPI_File_set_view(file, offset, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierr)
    total = ranks * 3 + ranks * (ranks - 1) / 2
    do round = 1, 4
      mine = 100 * round + rank
      call MPI_File_write_ordered(file, mine, size(mine), MPI_INTEGER, status, ierr)
    end do
    call MPI_File_get_position_shared(file, offset, ierr)
    call expect(offset == 4 * total, 'the shared position after ordered writes')
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    offset = 2 * total
    call MPI_File_seek_shared(file, offset, MPI_SEEK_SET, ierr)
    again = -1
    call MPI_File_read_ordered(file, again, size(again), MPI_INTEGER, status, ierr)
    call MPI_Get_count(status, MPI_INTEGER, count, ierr)
    call expect(count == size(again) .and. all(again == 300 + rank), 'a record in order')
    call MPI_File_close(file, ierr)
  end subroutine ordered

  subroutine without_waiting()
    HANDLE(MPI_File) :: file
    HANDLE(MPI_Request) :: requests(blocks + 1)
    STATUS(status)
    integer(kind=MPI_OFFSET_KIND) :: offset
    double precision, asynchronous :: mine(length, blocks)
    integer :: i, j, finished
    integer, asynchronous :: from
    logical :: seen(0:blocks + 1)
    call MPI_File_open(MPI_COMM_WORLD, 'blocks.bin', ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, file, ierr)
    do j = 1, blocks
      mine(:, j) = [(value_at(i, j + 100 * rank), i = 1, length)]
      offset = 8_MPI_OFFSET_KIND * length * ((j - 1) * ranks + rank)
      call MPI_File_iwrite_at(file, offset, mine(1, j), length, MPI_DOUBLE_PRECISION, requests(j), ierr)
    end do
    ! One of messages among those of the file.
    call MPI_Irecv(from, 1, MPI_INTEGER, modulo(rank + ranks - 1, ranks), 7, MPI_COMM_WORLD, requests(blocks + 1), ierr)
    call MPI_Send(rank, 1, MPI_INTEGER, modulo(rank + 1, ranks), 7, MPI_COMM_WORLD, ierr)
    seen = .false.
    do i = 1, blocks + 1
      call MPI_Waitany(blocks + 1, requests, finished, status, ierr)
      ! mpi_f08 of MPICH 4.0 has indices from 0.
      seen(finished) = .true.
    end do
    call expect(count(seen) == blocks + 1, 'the indices of what has ended')
    call expect(all([(requests(i) == MPI_REQUEST_NULL, i = 1, blocks + 1)]), 'the requests at the end')
    call expect(from == modulo(rank + ranks - 1, ranks), 'the message among requests of the file')
    call blocks_again(file, mine)
    call MPI_File_sync(file, ierr)
    call MPI_File_close(file, ierr)
  end subroutine without_waiting

  subroutine blocks_again(file, mine)
    HANDLE(MPI_File), intent(in) :: file
    double precision, intent(in) :: mine(length, blocks)
    HANDLE(MPI_Request) :: requests(blocks)
    STATUS(status)
    integer(kind=MPI_OFFSET_KIND) :: offset
    double precision, asynchronous :: again(length, blocks)
    integer :: j
    logical :: done
    again = -1
    do j = 1, blocks
      offset = 8_MPI_OFFSET_KIND * length * ((j - 1) * ranks + rank)
      call MPI_File_iread_at(file, offset, again(1, j), length, MPI_DOUBLE_PRECISION, requests(j), ierr)
      if (j == 1) then
        done = .false.
        do while (.not. done)
          call MPI_Test(requests(1), done, status, ierr)
        end do
      end if
    end do
    call MPI_Waitall(blocks, requests, MPI_STATUSES_IGNORE, ierr)
    call expect(all(again == mine), 'what was read without waiting')
  end subroutine blocks_again

  subroutine errors()
    HANDLE(MPI_File) :: file
    HANDLE(MPI_Info) :: info
    integer :: class, mode
    logical :: flag
    call MPI_File_open(MPI_COMM_WORLD, 'is not there', MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierr)
    call MPI_Error_class(ierr, class, ierr)
    call expect(class == MPI_ERR_NO_SUCH_FILE, 'the class of opening what is not there')
    call MPI_Info_create(info, ierr)
    call MPI_Info_set(info, 'cb_buffer_size', '65536', ierr)
    call MPI_File_open(MPI_COMM_WORLD, 'columns.bin', MPI_MODE_RDONLY, info, file, ierr)
    call MPI_Info_free(info, ierr)
    call MPI_File_get_amode(file, mode, ierr)
    call expect(mode == MPI_MODE_RDONLY, 'the access mode')
    call MPI_File_get_info(file, info, ierr)
    call MPI_Info_free(info, ierr)
    call MPI_File_set_atomicity(file, .true., ierr)
    call MPI_File_get_atomicity(file, flag, ierr)
    call expect(flag, 'the atomic mode')
    call MPI_File_close(file, ierr)
  end subroutine errors
end program records
