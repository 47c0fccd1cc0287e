// Invalid combinations of views, offsets, handles and calls: as in bad_input.cpp, every rank of a
// collective call gets the same class, and the file is still usable.
#include "chapter.hpp"

using namespace chapter;

namespace {

struct BadView {
  const char* what;
  MPI_Offset displacement;
  MPI_Datatype etype, filetype;
  const char* name;
  int expected;
};

TEST(BadInput, Views) {
  MPI_Datatype made;
  const int backwards[] = {3, 0}, negative[] = {-2, 0}, twice[] = {0, 0};
  MPI_Type_create_indexed_block(2, 1, backwards, MPI_INT, &made);
  const Type descends(made);
  MPI_Type_create_indexed_block(2, 1, negative, MPI_INT, &made);
  const Type below(made);
  MPI_Type_create_indexed_block(2, 1, twice, MPI_INT, &made);
  const Type overlaps(made);
  const BadView views[] = {
      {"negative displacement", -4, MPI_INT, MPI_INT, "native", MPI_ERR_ARG},
      {"displacement of sequential files", MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native",
       MPI_ERR_ARG},
      {"null etype", 0, MPI_DATATYPE_NULL, MPI_INT, "native", MPI_ERR_TYPE},
      {"null filetype", 0, MPI_INT, MPI_DATATYPE_NULL, "native", MPI_ERR_TYPE},
      {"not of whole etypes", 0, MPI_DOUBLE, MPI_INT, "native", MPI_ERR_ARG},
      {"descending", 0, MPI_INT, descends, "native", MPI_ERR_IO},
      {"negative place", 0, MPI_INT, below, "native", MPI_ERR_IO},
      {"overlapping", 0, MPI_INT, overlaps, "native", MPI_ERR_IO},
      {"unknown representation", 0, MPI_INT, MPI_INT, "papyrus", MPI_ERR_UNSUPPORTED_DATAREP}};
  const File file("views");
  for (const BadView& view : views)
    for (const bool all : {true, false}) {
      SCOPED_TRACE(view.what);
      const BadView mine =
          is_wrong(all) ? view : BadView{"", 0, MPI_INT, MPI_INT, "native", MPI_SUCCESS};
      EXPECT_CLASS(MPI_File_set_view(file, mine.displacement, mine.etype, mine.filetype, mine.name,
                                     MPI_INFO_NULL),
                   view.expected);
    }
  MPI_Offset displacement = -1;
  MPI_Datatype etype, filetype;
  char name[MPI_MAX_DATAREP_STRING + 1];
  EXPECT_MPI(MPI_File_get_view(file, &displacement, &etype, &filetype, name));
  EXPECT_EQ(displacement, 0);
  EXPECT_EQ(etype, MPI_BYTE);
  expect_usable(file);
}

TEST(BadInput, ViewsThatDiffer) {
  const File file("views_differ");
  const MPI_Datatype type = is_wrong(false) ? MPI_DOUBLE : MPI_INT;
  EXPECT_CLASS(MPI_File_set_view(file, 0, type, type, "native", MPI_INFO_NULL),
               size() == 1 ? MPI_SUCCESS : MPI_ERR_NOT_SAME);
  EXPECT_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, is_wrong(false) ? "internal" : "native",
                                 MPI_INFO_NULL),
               size() == 1 ? MPI_SUCCESS : MPI_ERR_NOT_SAME);
  expect_usable(file);
}

TEST(BadInput, SizesAndPlaces) {
  const File file("sizes");
  for (const bool all : {true, false}) {
    EXPECT_CLASS(MPI_File_set_size(file, is_wrong(all) ? -1 : 100), MPI_ERR_ARG);
    EXPECT_CLASS(MPI_File_preallocate(file, is_wrong(all) ? -1 : 100), MPI_ERR_ARG);
    EXPECT_CLASS(MPI_File_seek_shared(file, is_wrong(all) ? -1 : 0, MPI_SEEK_SET), MPI_ERR_ARG);
  }
  EXPECT_CLASS(MPI_File_seek(file, 0, 77), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_File_seek(file, -1, MPI_SEEK_END), MPI_ERR_ARG);
  MPI_Offset at = 0;
  EXPECT_CLASS(MPI_File_get_byte_offset(file, -1, &at), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_File_set_size(file, is_wrong(false) ? 100 : 200),
               size() == 1 ? MPI_SUCCESS : MPI_ERR_NOT_SAME);
  expect_usable(file);
}

TEST(BadInput, OffsetsBeyondAllFiles) {
  const File file("beyond");
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  const MPI_Offset far = INT64_MAX / 2;
  const int one = 1;
  EXPECT_NE(MPI_File_write_at(file, far, &one, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_NE(MPI_File_write_at_all(file, is_wrong(false) ? far : rank(), &one, 1, MPI_INT,
                                  MPI_STATUS_IGNORE),
            MPI_SUCCESS);
  expect_usable(file);
}

TEST(BadInput, SplitCallsThatDoNotMatch) {
  File file("split");
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  int mine = rank(), other = 0;
  EXPECT_CLASS(MPI_File_write_all_end(file, &mine, MPI_STATUS_IGNORE), MPI_ERR_IO);
  EXPECT_MPI(MPI_File_write_at_all_begin(file, rank(), &mine, 1, MPI_INT));
  EXPECT_CLASS(MPI_File_write_at_all_begin(file, rank(), &mine, 1, MPI_INT), MPI_ERR_IO);
  EXPECT_CLASS(MPI_File_read_all_begin(file, &other, 1, MPI_INT), MPI_ERR_IO);
  EXPECT_CLASS(MPI_File_write_at_all(file, rank(), &mine, 1, MPI_INT, MPI_STATUS_IGNORE),
               MPI_ERR_IO);
  EXPECT_CLASS(MPI_File_set_size(file, 100), MPI_ERR_IO);
  EXPECT_CLASS(MPI_File_sync(file), MPI_ERR_IO);
  EXPECT_CLASS(MPI_File_write_all_end(file, &mine, MPI_STATUS_IGNORE), MPI_ERR_IO);
  EXPECT_MPI(MPI_File_write_at_all_end(file, &mine, MPI_STATUS_IGNORE));
  expect_usable(file);
}

TEST(BadInput, FilesThatAreNotOpen) {
  int one = 1, flag = 0;
  MPI_Offset at = 0;
  MPI_File none = MPI_FILE_NULL;
  EXPECT_CLASS(MPI_File_close(&none), MPI_ERR_FILE);
  EXPECT_CLASS(MPI_File_get_size(none, &at), MPI_ERR_FILE);
  EXPECT_CLASS(MPI_File_write_at(none, 0, &one, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_FILE);
  EXPECT_CLASS(MPI_File_sync(none), MPI_ERR_FILE);
  File file("closed");
  const MPI_File before = file;
  file.close();
  EXPECT_CLASS(MPI_File_get_atomicity(before, &flag), MPI_ERR_FILE);
  EXPECT_CLASS(MPI_File_read_at_all(before, 0, &one, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_FILE);
  MPI_File again = before;
  EXPECT_CLASS(MPI_File_close(&again), MPI_ERR_FILE);
}

/// Ranks in different collective calls: neither waits for ever for the other.
TEST(BadInput, DifferentCollectiveCalls) {
  if (size() == 1) return;
  const File file("different");
  const int mine = rank();
  const int code = is_wrong(false) ? MPI_File_sync(file)
                                   : MPI_File_write_at_all(file, rank() * 4, &mine, 1, MPI_INT,
                                                           MPI_STATUS_IGNORE);
  EXPECT_CLASS(code, MPI_ERR_NOT_SAME);
  expect_usable(file);
}

int errors = 0;

void count_error(MPI_File*, int* code, ...) {
  ++errors;
  EXPECT_CLASS(*code, MPI_ERR_COUNT);
}

TEST(BadInput, GoesThroughTheHandlerOfTheFileOnEveryRank) {
  const File file("handler");
  MPI_Errhandler handler;
  EXPECT_MPI(MPI_File_create_errhandler(&count_error, &handler));
  EXPECT_MPI(MPI_File_set_errhandler(file, handler));
  const int mine = rank();
  EXPECT_CLASS(MPI_File_write_at_all(file, rank() * 4, &mine, is_wrong(false) ? -1 : 1, MPI_INT,
                                     MPI_STATUS_IGNORE),
               MPI_ERR_COUNT);
  EXPECT_EQ(errors, 1);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code =
      MPI_File_iwrite_at_all(file, rank() * 4, &mine, is_wrong(false) ? -1 : 1, MPI_INT, &request);
  EXPECT_CLASS(code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
  EXPECT_EQ(errors, 2);
  MPI_Errhandler_free(&handler);
}

}  // namespace
