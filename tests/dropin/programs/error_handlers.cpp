// Error handlers of files through the C++ bindings of MPI-2, which MPI-3 has removed and some
// libraries still have.
#include <mpi.h>

#include <cstdio>

namespace {

int wrong = 0, called = 0, called_with = MPI::SUCCESS;
MPI::File called_for;

void expect(bool right, const char* what) {
  if (right) return;
  ++wrong;
  std::printf("rank %d: %s\n", MPI::COMM_WORLD.Get_rank(), what);
}

void note(MPI::File& file, int* code, ...) {
  ++called;
  called_with = *code;
  called_for = file;
}

void expect_call(int calls, const MPI::File& file, int expected, const char* what) {
  expect(called == calls, what);
  expect(called_for == file, "the file that a handler was called with");
  expect(MPI::Get_error_class(called_with) == expected, "the class that a handler was called with");
}

void expect_handler(const MPI::File& file, const MPI::Errhandler& expected, const char* what) {
  MPI::Errhandler reported = file.Get_errhandler();
  expect(reported == expected, what);
  reported.Free();
}

/// A file pointer before the beginning.
void make_error(MPI::File& file) {
  file.Seek(-1, MPI::SEEK_SET);
}

/// Debian's Open MPI is built without exceptions: its handler stores the code in MPI::mpi_errno
/// instead.
template <class Work>
void expect_exception(int expected, const Work& work) {
  int thrown = MPI::SUCCESS;
#if defined(OPEN_MPI) && !OMPI_HAVE_CXX_EXCEPTION_SUPPORT
  MPI::mpi_errno = MPI::SUCCESS;
  work();
  thrown = MPI::Get_error_class(MPI::mpi_errno);
#else
  try {
    work();
  } catch (MPI::Exception& exception) {
    thrown = exception.Get_error_class();
  }
#endif
  expect(thrown == expected, "the class of an exception");
}

void check_handlers(MPI::File& file) {
  MPI::Errhandler handler = MPI::File::Create_errhandler(&note);
  const MPI::Errhandler before = handler;
  file.Set_errhandler(handler);
  expect_handler(file, before, "the handler that was set");
  make_error(file);
  expect_call(1, file, MPI::ERR_ARG, "a handler that was set");
  handler.Free();
  make_error(file);
  expect_call(2, file, MPI::ERR_ARG, "a handler that the program has freed");
  expect_handler(file, before, "the handler that the program has freed");
  file.Call_errhandler(MPI::ERR_NO_SPACE);
  expect_call(3, file, MPI::ERR_NO_SPACE, "a handler that the program called");
  file.Set_errhandler(MPI::ERRORS_RETURN);
  make_error(file);
  expect_handler(file, MPI::ERRORS_RETURN, "MPI::ERRORS_RETURN");
  expect(called == 3, "MPI::ERRORS_RETURN calls nothing");
}

void check_exceptions(MPI::File& file) {
  file.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
  expect_handler(file, MPI::ERRORS_THROW_EXCEPTIONS, "MPI::ERRORS_THROW_EXCEPTIONS");
  expect_exception(MPI::ERR_ARG, [&] { make_error(file); });
  file.Set_errhandler(MPI::ERRORS_RETURN);
  make_error(file);
  const int mine = MPI::COMM_WORLD.Get_rank();
  int back = -1;
  file.Write_at_all(mine * 4, &mine, 1, MPI::INT);
  file.Read_at_all(mine * 4, &back, 1, MPI::INT);
  expect(back == mine, "what was read after exceptions");
}

}  // namespace

int main(int argc, char** argv) {
  MPI::Init(argc, argv);
  MPI::File file = MPI::File::Open(MPI::COMM_WORLD, "handled.bin",
                                   MPI::MODE_CREATE | MPI::MODE_RDWR, MPI::INFO_NULL);
  check_handlers(file);
  check_exceptions(file);
  file.Close();
  int all = 0;
  MPI::COMM_WORLD.Allreduce(&wrong, &all, 1, MPI::INT, MPI::SUM);
  if (MPI::COMM_WORLD.Get_rank() == 0) std::printf("%d checks have failed\n", all);
  if (all != 0) MPI::COMM_WORLD.Abort(1);
  MPI::Finalize();
}
