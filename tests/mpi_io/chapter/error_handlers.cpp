// Error handlers of files (MPI 4.1, sections 9.3.3 and 14.7).
#include "chapter.hpp"

using namespace chapter;

namespace {

int called = 0, called_with = MPI_SUCCESS;
MPI_File called_for = MPI_FILE_NULL;

void note(MPI_File* file, int* code, ...) {
  ++called;
  called_with = *code;
  called_for = *file;
}

/// Exists until it is freed: MPI may free it after the last file's.
class Handler {
 public:
  Handler() { EXPECT_MPI(MPI_File_create_errhandler(&note, &handler_)); }
  Handler(const Handler&) = delete;
  ~Handler() { MPI_Errhandler_free(&handler_); }
  operator MPI_Errhandler() const { return handler_; }

 private:
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

TEST(ErrorHandlers, AreCalledForTheirFile) {
  const File file("handled"), other("other");
  MPI_Errhandler reported = MPI_ERRHANDLER_NULL;
  EXPECT_MPI(MPI_File_get_errhandler(file, &reported));
  EXPECT_EQ(reported, MPI_ERRORS_RETURN);
  const Handler handler;
  EXPECT_MPI(MPI_File_set_errhandler(file, handler));
  called = 0;
  EXPECT_CLASS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  EXPECT_EQ(called, 1);
  EXPECT_CLASS(called_with, MPI_ERR_ARG);
  EXPECT_EQ(called_for, file.handle);
  EXPECT_CLASS(MPI_File_seek(other, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  EXPECT_EQ(called, 1);
  EXPECT_MPI(MPI_File_call_errhandler(file, MPI_ERR_NO_SPACE));
  EXPECT_EQ(called, 2);
  EXPECT_EQ(called_with, MPI_ERR_NO_SPACE);
  EXPECT_MPI(MPI_File_get_errhandler(file, &reported));
  EXPECT_MPI(MPI_File_set_errhandler(other, reported));
  MPI_Errhandler_free(&reported);
  EXPECT_CLASS(MPI_File_seek(other, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  EXPECT_EQ(called, 3);
  EXPECT_EQ(called_for, other.handle);
  EXPECT_MPI(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
  EXPECT_CLASS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  EXPECT_EQ(called, 3);
}

MPI_Errhandler handler_of(MPI_File file) {
  MPI_Errhandler reported = MPI_ERRHANDLER_NULL;
  EXPECT_MPI(MPI_File_get_errhandler(file, &reported));
  return reported;
}

/// Compares handles as programs do; this works with all MPI libraries.
void expect_handler(MPI_File file, MPI_Errhandler expected) {
  MPI_Errhandler reported = handler_of(file);
  EXPECT_EQ(reported, expected);
  EXPECT_EQ(MPI_Errhandler_free(&reported), MPI_SUCCESS);
  EXPECT_EQ(reported, MPI_ERRHANDLER_NULL);
}

TEST(ErrorHandlers, AreToldAsTheyWereSet) {
  const File file("set");
  const Handler handler, other;
  for (const MPI_File of : {file.handle, MPI_FILE_NULL}) {
    expect_handler(of, MPI_ERRORS_RETURN);
    for (const MPI_Errhandler mine : {
           static_cast<MPI_Errhandler>(handler), MPI_ERRORS_ARE_FATAL,
               static_cast<MPI_Errhandler>(other),
// MPICH 4.0 ends the program that frees such a handle.
#if defined(MPI_ERRORS_ABORT) && (!defined(MPICH_NUMVERSION) || MPICH_NUMVERSION >= 40100000)
               MPI_ERRORS_ABORT,
#endif
               MPI_ERRORS_RETURN
         }) {
      EXPECT_MPI(MPI_File_set_errhandler(of, mine));
      for (int again = 0; again < 3; ++again) expect_handler(of, mine);
    }
  }
}

MPI_Errhandler make_handler() {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  EXPECT_MPI(MPI_File_create_errhandler(&note, &handler));
  return handler;
}

void ignore(MPI_Comm*, int*, ...) {}

/// A file keeps it until another one is set; the returned handle is the caller's.
TEST(ErrorHandlers, StayWhenTheProgramFreesThem) {
  const File file("freed");
  MPI_Errhandler handler = make_handler();
  const MPI_Errhandler before = handler;
  EXPECT_MPI(MPI_File_set_errhandler(file, handler));
  MPI_Errhandler_free(&handler);
  MPI_Errhandler others[20];  // could reuse a freed handle's value
  for (MPI_Errhandler& other : others) {
    EXPECT_EQ(MPI_Comm_create_errhandler(&ignore, &other), MPI_SUCCESS);
    EXPECT_NE(other, before);
  }
  expect_handler(file, before);
  expect_handler(file, before);
  called = 0;
  EXPECT_CLASS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  EXPECT_EQ(called, 1);
  const File later("freed_later");
  handler = handler_of(file);
  EXPECT_MPI(MPI_File_set_errhandler(later, handler));
  MPI_Errhandler_free(&handler);
  EXPECT_MPI(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
  expect_handler(later, before);
  EXPECT_CLASS(MPI_File_seek(later, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  EXPECT_EQ(called, 2);
  for (MPI_Errhandler& other : others) MPI_Errhandler_free(&other);
}

void set_another(MPI_File* file, int*, ...) {
  ++called;
  MPI_File_set_errhandler(*file, MPI_ERRORS_RETURN);
}

/// The new one is set and the old one freed while it runs.
TEST(ErrorHandlers, MaySetAnotherWhileTheyAreCalled) {
  const File file("replaced");
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  EXPECT_MPI(MPI_File_create_errhandler(&set_another, &handler));
  EXPECT_MPI(MPI_File_set_errhandler(file, handler));
  MPI_Errhandler_free(&handler);
  called = 0;
  for (int i = 0; i < 2; ++i) EXPECT_CLASS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  EXPECT_EQ(called, 1);
  expect_handler(file, MPI_ERRORS_RETURN);
}

#ifdef MPICH_VERSION
/// Handles of MPICH are numbers, and the one freed last is reused next.
TEST(ErrorHandlers, AreGoneWithTheLastFileThatHasThem) {
  MPI_Errhandler handler = make_handler();
  const MPI_Errhandler before = handler;
  {
    const File file("last");
    EXPECT_MPI(MPI_File_set_errhandler(file, handler));
    expect_handler(file, before);
    EXPECT_MPI(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
    const File inherits("last_too");
    EXPECT_MPI(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    expect_handler(inherits, before);
    MPI_Errhandler_free(&handler);
  }
  handler = make_handler();
  EXPECT_EQ(handler, before);
  MPI_Errhandler_free(&handler);
}
#endif

/// Even if the handle was that of a file's handler before.
TEST(ErrorHandlers, OfCommunicatorsAreRefused) {
  const File file("refused");
  MPI_Errhandler handler = make_handler(), of_comm = MPI_ERRHANDLER_NULL;
  MPI_Errhandler_free(&handler);
  MPI_Comm_create_errhandler(&ignore, &of_comm);
  EXPECT_CLASS(MPI_File_set_errhandler(file, of_comm), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_File_set_errhandler(file, MPI_ERRHANDLER_NULL), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_File_set_errhandler(MPI_FILE_NULL, of_comm), MPI_ERR_ARG);
  expect_handler(file, MPI_ERRORS_RETURN);
  expect_handler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&of_comm);
}

TEST(ErrorHandlers, OfFilesThatAreNotOpen) {
  File file("closed");
  const MPI_File before = file;
  file.close();
  MPI_Errhandler reported = MPI_ERRHANDLER_NULL;
  EXPECT_CLASS(MPI_File_get_errhandler(before, &reported), MPI_ERR_FILE);
  EXPECT_CLASS(MPI_File_set_errhandler(before, MPI_ERRORS_RETURN), MPI_ERR_FILE);
  EXPECT_CLASS(MPI_File_call_errhandler(before, MPI_ERR_IO), MPI_ERR_FILE);
  EXPECT_MPI(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO));
}

/// Files that cannot be opened, and files opened later, use the handler of MPI_FILE_NULL.
TEST(ErrorHandlers, OfNoFileIsThatOfNewFiles) {
  const Handler handler;
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  EXPECT_MPI(MPI_File_get_errhandler(MPI_FILE_NULL, &before));
  EXPECT_EQ(before, MPI_ERRORS_RETURN);
  EXPECT_MPI(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
  called = 0;
  MPI_File none = MPI_FILE_NULL;
  EXPECT_CLASS(MPI_File_open(MPI_COMM_WORLD, path_of("not_there").c_str(), MPI_MODE_RDONLY,
                             MPI_INFO_NULL, &none),
               MPI_ERR_NO_SUCH_FILE);
  EXPECT_EQ(called, 1);
  EXPECT_EQ(called_for, MPI_FILE_NULL);
  {
    const File file("later");
    EXPECT_MPI(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    EXPECT_CLASS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    EXPECT_EQ(called, 2);
  }
  EXPECT_CLASS(MPI_File_delete(path_of("not_there").c_str(), MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  EXPECT_EQ(called, 2);
}

/// Errors of message requests are returned if the program has asked for that, also after files were
/// opened and written.
TEST(ErrorHandlers, OfCommunicatorsStayAsTheyAre) {
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int sent[2] = {1, 2};
  int received = 0, index = -1;
  {
    const File file("stay");
    const Type every(cyclic_ints(0, 2));
    EXPECT_MPI(MPI_File_write_at(file, rank() * 16, sent, 1, every, MPI_STATUS_IGNORE));
  }
  MPI_Request requests[2];
  MPI_Irecv(&received, 1, MPI_INT, rank(), 7, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(sent, 2, MPI_INT, rank(), 7, MPI_COMM_WORLD, &requests[1]);
  const int code = MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) EXPECT_CLASS(code, MPI_ERR_TRUNCATE);  // Open MPI 4.1 truncates silently
  EXPECT_EQ(index, 0);
  EXPECT_MPI(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
  MPI_Errhandler_free(&before);
}

/// An error's text names the call and the file.
TEST(ErrorHandlers, TextsName) {
  MPI_File none = MPI_FILE_NULL;
  const std::string path = path_of("not_there");
  const int code =
      MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &none);
  EXPECT_NE(text_of(code).find(path), std::string::npos) << text_of(code);
}

}  // namespace
