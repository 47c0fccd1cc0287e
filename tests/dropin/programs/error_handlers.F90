! Error handlers of files that are made in Fortran.
! Compiled with FORM_MPIF_H, FORM_MPI or FORM_MPI_F08, one for each way in which Fortran has MPI.
!   error_handlers            each handler is called with its file and the code of the error
!   error_handlers fatal      ends in MPI_ERRORS_ARE_FATAL
#if defined(FORM_MPI_F08)
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
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

! Arguments of the handlers' calls.
module calls
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: one_calls = 0, other_calls = 0, last_code = 0
  HANDLE(MPI_File) :: last_file

contains

  subroutine note_one(file, code)
    HANDLE(MPI_File) :: file
    integer :: code
    one_calls = one_calls + 1
    last_file = file
    last_code = code
  end subroutine note_one

  subroutine note_other(file, code)
    HANDLE(MPI_File) :: file
    integer :: code
    other_calls = other_calls + 1
    last_file = file
    last_code = code
  end subroutine note_other
end module calls

program error_handlers
  use calls
  implicit none
  integer :: rank, ierr, wrong = 0, all_wrong
  HANDLE(MPI_File) :: file
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_File_open(MPI_COMM_WORLD, 'handled.bin', ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, file, ierr)
  if (command_argument_count() > 0) call end_by_error()
  call of_a_file()
  call of_another_file()
  call of_no_file()
  call MPI_File_close(file, ierr)
  call expect(ierr == MPI_SUCCESS, 'closing')
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

  ! Calls so far, and those that the last error had: of its file, and with its code.
  subroutine expect_calls(of_one, of_other, of_file, code, what)
    integer, intent(in) :: of_one, of_other, code
    HANDLE(MPI_File), intent(in) :: of_file
    character(len=*), intent(in) :: what
    integer :: class
    call expect(one_calls == of_one .and. other_calls == of_other, what // ': the number of calls')
    call expect(last_file == of_file, what // ': the file that the handler was called with')
    call MPI_Error_class(last_code, class, ierr)
    call expect(class == code, what // ': the class of the code that the handler was called with')
  end subroutine expect_calls

  ! A file pointer before the beginning.
  subroutine make_error(of_file, expected)
    HANDLE(MPI_File), intent(in) :: of_file
    integer, intent(in) :: expected
    integer(kind=MPI_OFFSET_KIND) :: offset
    integer :: class
    offset = -1
    call MPI_File_seek(of_file, offset, MPI_SEEK_SET, ierr)
    call MPI_Error_class(ierr, class, ierr)
    call expect(class == expected, 'the class of an error')
  end subroutine make_error

  subroutine of_a_file()
    HANDLE(MPI_Errhandler) :: handler, before, reported
    call MPI_File_create_errhandler(note_one, handler, ierr)
    call expect(ierr == MPI_SUCCESS, 'creating a handler')
    call MPI_File_set_errhandler(file, handler, ierr)
    call expect(ierr == MPI_SUCCESS, 'setting a handler')
    before = handler
    call MPI_Errhandler_free(handler, ierr)
    call MPI_File_get_errhandler(file, reported, ierr)
    call expect(reported == before, 'the handler that was set')
    call MPI_Errhandler_free(reported, ierr)
    call make_error(file, MPI_ERR_ARG)
    call expect_calls(1, 0, file, MPI_ERR_ARG, 'a handler that was set')
    call MPI_File_call_errhandler(file, MPI_ERR_NO_SPACE, ierr)
    call expect(ierr == MPI_SUCCESS, 'calling a handler')
    call expect_calls(2, 0, file, MPI_ERR_NO_SPACE, 'a handler that the program called')
  end subroutine of_a_file

  ! By its PMPI_ name, and taken over from one file to another.
  subroutine of_another_file()
    HANDLE(MPI_File) :: other
    HANDLE(MPI_Errhandler) :: handler, reported
#if defined(FORM_MPI_F08)
    call PMPI_File_create_errhandler(note_other, handler)
#else
    call PMPI_File_create_errhandler(note_other, handler, ierr)
#endif
    call MPI_File_open(MPI_COMM_WORLD, 'other.bin', ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, other, ierr)
    call MPI_File_set_errhandler(other, handler, ierr)
    call make_error(other, MPI_ERR_ARG)
    call expect_calls(2, 1, other, MPI_ERR_ARG, 'a handler of another file')
    call MPI_File_get_errhandler(other, reported, ierr)
    call MPI_File_set_errhandler(file, reported, ierr)
    call MPI_Errhandler_free(reported, ierr)
    call MPI_Errhandler_free(handler, ierr)
    call make_error(file, MPI_ERR_ARG)
    call expect_calls(2, 2, file, MPI_ERR_ARG, 'a handler that a file has reported')
    call MPI_File_close(other, ierr)
    call MPI_File_set_errhandler(file, MPI_ERRORS_RETURN, ierr)
    call make_error(file, MPI_ERR_ARG)
    call expect_calls(2, 2, file, MPI_ERR_ARG, 'MPI_ERRORS_RETURN')
    call MPI_File_get_errhandler(file, reported, ierr)
    call expect(reported == MPI_ERRORS_RETURN, 'the handler MPI_ERRORS_RETURN')
    call MPI_Errhandler_free(reported, ierr)
  end subroutine of_another_file

  ! The handler of MPI_FILE_NULL: of what cannot be opened, and of files that are opened later.
  subroutine of_no_file()
    HANDLE(MPI_File) :: other
    HANDLE(MPI_Errhandler) :: handler
    call MPI_File_create_errhandler(note_one, handler, ierr)
    call MPI_File_set_errhandler(MPI_FILE_NULL, handler, ierr)
    call MPI_File_open(MPI_COMM_WORLD, 'is not there', MPI_MODE_RDONLY, MPI_INFO_NULL, other, ierr)
    call expect(ierr /= MPI_SUCCESS, 'opening what is not there')
    call expect_calls(3, 2, MPI_FILE_NULL, MPI_ERR_NO_SUCH_FILE, 'the handler of MPI_FILE_NULL')
    call MPI_File_open(MPI_COMM_WORLD, 'handled.bin', MPI_MODE_RDONLY, MPI_INFO_NULL, other, ierr)
    call MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN, ierr)
    call MPI_Errhandler_free(handler, ierr)
    call make_error(other, MPI_ERR_ARG)
    call expect_calls(4, 2, other, MPI_ERR_ARG, 'the handler that a file was opened with')
    call MPI_File_close(other, ierr)
  end subroutine of_no_file

  subroutine end_by_error()
    call MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL, ierr)
    call expect(ierr == MPI_SUCCESS, 'setting a handler that ends the program')
    call make_error(file, MPI_ERR_ARG)
    print '(A)', 'the program went on'
    flush (6)
    call MPI_Finalize(ierr)
    stop
  end subroutine end_by_error
end program error_handlers
