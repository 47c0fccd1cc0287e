// Errors in programs: every rank of a collective call gets the class that the standard names, even
// if only one rank is wrong, and the file is still usable.
#include <algorithm>
#include <functional>

#include "chapter.hpp"

using namespace chapter;

namespace {

int open_with(const std::string& name, int amode) {
  MPI_File file = MPI_FILE_NULL;
  const int code =
      MPI_File_open(MPI_COMM_WORLD, path_of(name).c_str(), amode, MPI_INFO_NULL, &file);
  if (file != MPI_FILE_NULL) MPI_File_close(&file);
  return code;
}

TEST(BadInput, ModesThatDoNotGoTogether) {
  for (const int amode : std::vector<int>{
           0, MPI_MODE_CREATE, MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_MODE_RDONLY | MPI_MODE_WRONLY,
           MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_MODE_RDONLY | MPI_MODE_EXCL,
           MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, 1 << 28})
    EXPECT_CLASS(open_with("modes", amode), MPI_ERR_AMODE) << amode;
  EXPECT_FALSE(exists(path_of("modes")));
}

TEST(BadInput, ModesThatDiffer) {
  const int amode = is_wrong(false) ? MPI_MODE_WRONLY | MPI_MODE_CREATE : read_write;
  EXPECT_CLASS(open_with("differ", amode), size() == 1 ? MPI_SUCCESS : MPI_ERR_NOT_SAME);
  const int wrong = is_wrong(false) ? MPI_MODE_RDONLY | MPI_MODE_CREATE : read_write;
  const int found = class_of(open_with("differ", wrong));
  EXPECT_TRUE(found == MPI_ERR_AMODE || found == MPI_ERR_NOT_SAME);
}

TEST(BadInput, FilesThatCannotBeOpened) {
  EXPECT_CLASS(open_with("no_such_file", MPI_MODE_RDWR), MPI_ERR_NO_SUCH_FILE);
  EXPECT_CLASS(open_with("no_such_folder/file", read_write), MPI_ERR_NO_SUCH_FILE);
  EXPECT_CLASS(open_with("", read_write), MPI_ERR_BAD_FILE);
  EXPECT_CLASS(open_with(std::string(5000, 'x'), read_write), MPI_ERR_BAD_FILE);
  MPI_File file = MPI_FILE_NULL;
  EXPECT_CLASS(MPI_File_open(MPI_COMM_NULL, path_of("x").c_str(), read_write, MPI_INFO_NULL, &file),
               MPI_ERR_COMM);
  EXPECT_EQ(file, MPI_FILE_NULL);
}

TEST(BadInput, InterCommunicators) {
  if (size() < 2) return;
  MPI_Comm half, between;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank() % 2, 9, &between);
  MPI_File file = MPI_FILE_NULL;
  EXPECT_CLASS(MPI_File_open(between, path_of("x").c_str(), read_write, MPI_INFO_NULL, &file),
               MPI_ERR_COMM);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

TEST(BadInput, WhatTheModeForbids) {
  make_file(path_of("forbidden"), std::vector<int>{1, 2, 3});
  int one = 1;
  {
    const File file("forbidden", MPI_MODE_RDONLY);
    EXPECT_CLASS(MPI_File_write_at(file, 0, &one, 1, MPI_INT, MPI_STATUS_IGNORE),
                 MPI_ERR_READ_ONLY);
    EXPECT_CLASS(MPI_File_write_all(file, &one, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
    EXPECT_CLASS(MPI_File_set_size(file, 1), MPI_ERR_READ_ONLY);
    EXPECT_CLASS(MPI_File_preallocate(file, 1000), MPI_ERR_READ_ONLY);
  }
  {
    const File file("forbidden", MPI_MODE_WRONLY);
    EXPECT_CLASS(MPI_File_read_at(file, 0, &one, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
    EXPECT_CLASS(MPI_File_read_all(file, &one, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  }
  const File file("forbidden", MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL);
  MPI_Offset at = 0;
  EXPECT_CLASS(MPI_File_read(file, &one, 1, MPI_INT, MPI_STATUS_IGNORE),
               MPI_ERR_UNSUPPORTED_OPERATION);
  EXPECT_CLASS(MPI_File_read_at_all(file, 0, &one, 1, MPI_INT, MPI_STATUS_IGNORE),
               MPI_ERR_UNSUPPORTED_OPERATION);
  EXPECT_CLASS(MPI_File_seek(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
  EXPECT_CLASS(MPI_File_get_position(file, &at), MPI_ERR_UNSUPPORTED_OPERATION);
  EXPECT_CLASS(MPI_File_seek_shared(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
  EXPECT_EQ(values<int>(file.path), (std::vector<int>{1, 2, 3}));
}

/// One wrong argument in an independent and a collective call, with each kind of pointer.
struct Arguments {
  MPI_Offset offset = 0;
  int count = 1;
  MPI_Datatype type = MPI_INT;
  bool has_buffer = true;
};

using Call = std::function<int(MPI_File, const Arguments&, int*)>;

const std::vector<Call> independent_calls{
    [](MPI_File f, const Arguments& a, int* b) {
      return MPI_File_write_at(f, a.offset, b, a.count, a.type, MPI_STATUS_IGNORE);
    },
    [](MPI_File f, const Arguments& a, int* b) {
      return MPI_File_read_at(f, a.offset, b, a.count, a.type, MPI_STATUS_IGNORE);
    },
    [](MPI_File f, const Arguments& a, int* b) {
      MPI_Request request = MPI_REQUEST_NULL;
      const int code = MPI_File_iwrite_at(f, a.offset, b, a.count, a.type, &request);
      EXPECT_EQ(request, MPI_REQUEST_NULL);
      return code;
    }};

const std::vector<Call> collective_calls{
    [](MPI_File f, const Arguments& a, int* b) {
      return MPI_File_write_at_all(f, a.offset, b, a.count, a.type, MPI_STATUS_IGNORE);
    },
    [](MPI_File f, const Arguments& a, int* b) {
      return MPI_File_read_at_all(f, a.offset, b, a.count, a.type, MPI_STATUS_IGNORE);
    },
    [](MPI_File f, const Arguments& a, int* b) {
      const int code = MPI_File_write_at_all_begin(f, a.offset, b, a.count, a.type);
      return code != MPI_SUCCESS ? code : MPI_File_write_at_all_end(f, b, MPI_STATUS_IGNORE);
    },
    [](MPI_File f, const Arguments& a, int* b) {
      MPI_Request request = MPI_REQUEST_NULL;
      const int code = MPI_File_iread_at_all(f, a.offset, b, a.count, a.type, &request);
      return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    }};

int call_with(const Call& call, MPI_File file, const Arguments& arguments) {
  int buffer[4] = {};
  return call(file, arguments, arguments.has_buffer ? buffer : nullptr);
}

void check_arguments(const Arguments& wrong, int expected) {
  const File file("arguments");
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  int buffer[4] = {};
  for (const Call& call : independent_calls) EXPECT_CLASS(call_with(call, file, wrong), expected);
  for (const bool all : {true, false})
    for (std::size_t i = 0; i < collective_calls.size(); ++i)
      EXPECT_CLASS(call_with(collective_calls[i], file, is_wrong(all) ? wrong : Arguments{}),
                   expected)
          << "collective call " << i << (all ? ", wrong on all ranks" : ", wrong on one rank");
  if (wrong.offset == 0)
    for (const bool all : {true, false}) {
      const Arguments mine = is_wrong(all) ? wrong : Arguments{};
      const int* const from = mine.has_buffer ? buffer : nullptr;
      EXPECT_CLASS(MPI_File_write_ordered(file, from, mine.count, mine.type, MPI_STATUS_IGNORE),
                   expected);
      EXPECT_CLASS(MPI_File_write_all(file, from, mine.count, mine.type, MPI_STATUS_IGNORE),
                   expected);
    }
  expect_usable(file);
}

TEST(BadInput, NegativeCount) {
  check_arguments({.count = -1}, MPI_ERR_COUNT);
}

TEST(BadInput, NegativeOffset) {
  check_arguments({.offset = -1}, MPI_ERR_ARG);
}

TEST(BadInput, NullDatatype) {
  check_arguments({.type = MPI_DATATYPE_NULL}, MPI_ERR_TYPE);
}

TEST(BadInput, NullBuffer) {
  check_arguments({.has_buffer = false}, MPI_ERR_BUFFER);
}

TEST(BadInput, PartsOfAnEtype) {
  check_arguments({.count = 3, .type = MPI_CHAR}, MPI_ERR_IO);
}

TEST(BadInput, DatatypesThatAreNotCommitted) {
  MPI_Datatype made;
  MPI_Type_vector(3, 1, 2, MPI_INT, &made);
  check_arguments({.type = made}, MPI_ERR_TYPE);
  const File file("committed");
  EXPECT_CLASS(MPI_File_set_view(file, 0, MPI_INT, is_wrong(false) ? made : MPI_INT, "native",
                                 MPI_INFO_NULL),
               MPI_ERR_TYPE);
  MPI_Type_commit(&made);
  int buffer[6] = {};
  EXPECT_MPI(MPI_File_write_at_all(file, 24 * rank(), buffer, 1, made, MPI_STATUS_IGNORE));
  MPI_Type_free(&made);
}

/// In Open MPI a handle is a pointer: after it is freed, its memory may have any content.
class FreedDatatypes : public testing::Test {
 protected:
  void SetUp() override {
#ifdef OPEN_MPI
    GTEST_SKIP() << "a handle that was freed is a pointer to memory that was freed";
#endif
  }
};

MPI_Datatype freed_type() {
  MPI_Datatype made;
  MPI_Type_vector(3, 1, 2, MPI_INT, &made);
  MPI_Type_commit(&made);
  const MPI_Datatype freed = made;
  MPI_Type_free(&made);
  return freed;
}

TEST_F(FreedDatatypes, AreNoTypes) {
  check_arguments({.type = freed_type()}, MPI_ERR_TYPE);
}

/// A type that was used with the file before it was freed.
TEST_F(FreedDatatypes, AreNoTypesAfterTheirUse) {
  const File file("freed");
  MPI_Datatype made;
  MPI_Type_vector(3, 1, 2, MPI_INT, &made);
  MPI_Type_commit(&made);
  int buffer[6] = {1, 2, 3, 4, 5, 6};
  EXPECT_MPI(MPI_File_write_at(file, 0, buffer, 1, made, MPI_STATUS_IGNORE));
  const MPI_Datatype freed = made;
  MPI_Type_free(&made);
  EXPECT_CLASS(MPI_File_write_at(file, 0, buffer, 1, freed, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
  EXPECT_CLASS(MPI_File_write_at_all(file, 0, buffer, 1, is_wrong(false) ? freed : MPI_INT,
                                     MPI_STATUS_IGNORE),
               MPI_ERR_TYPE);
  expect_usable(file);
}

TEST_F(FreedDatatypes, MakeNoView) {
  const File file("freed_view");
  const MPI_Datatype freed = freed_type();
  for (const bool all : {true, false}) {
    const MPI_Datatype type = is_wrong(all) ? freed : MPI_INT;
    EXPECT_CLASS(MPI_File_set_view(file, 0, MPI_INT, type, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
    EXPECT_CLASS(MPI_File_set_view(file, 0, MPI_INT, type, "external32", MPI_INFO_NULL),
                 MPI_ERR_TYPE);
  }
  MPI_Aint extent = 0;
  EXPECT_CLASS(MPI_File_get_type_extent(file, freed, &extent), MPI_ERR_TYPE);
  expect_usable(file);
}

/// The program's error handlers of communicators are not changed.
TEST_F(FreedDatatypes, LeaveErrorHandlersAlone) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const File file("leaves");
  int buffer[6] = {};
  EXPECT_CLASS(MPI_File_write_at(file, 0, buffer, 1, freed_type(), MPI_STATUS_IGNORE),
               MPI_ERR_TYPE);
  MPI_Errhandler reported;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &reported);
  EXPECT_EQ(reported, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  EXPECT_CLASS(MPI_File_write_at(file, 0, buffer, 1, freed_type(), MPI_STATUS_IGNORE),
               MPI_ERR_TYPE);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &reported);
  EXPECT_EQ(reported, MPI_ERRORS_ARE_FATAL);
}

}  // namespace
