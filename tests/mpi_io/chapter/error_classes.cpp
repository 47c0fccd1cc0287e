// The classes of errors compared with those of ROMIO and OMPIO (error_classes.txt). With Penstock
// preloaded its column is expected, without it that of the MPI library: so the table stays correct.
#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>

#include "chapter.hpp"
#include "error_cases.hpp"

using namespace chapter;

namespace {

struct Row {
  std::string what, penstock, romio, ompio, why;
};

std::vector<std::string> parts_of(std::string text, const std::string& separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; (at = text.find(separator)) != std::string::npos;) {
    parts.push_back(text.substr(0, at));
    text.erase(0, at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

std::vector<Row> table() {
  std::vector<Row> rows;
  std::ifstream in(PENSTOCK_ERROR_CLASSES);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> columns = parts_of(line, " | ");
    columns.resize(5);
    if (columns[3].ends_with(" |")) columns[3].resize(columns[3].size() - 2);
    rows.push_back({columns[0], columns[1], columns[2], columns[3], columns[4]});
  }
  return rows;
}

/// Not constants: in some libraries they are known only at load time.
std::string name_of(int value) {
#define CHAPTER_CLASS(name) \
  { MPI_##name, #name }
#define CHAPTER_ERROR(name) \
  { MPI_ERR_##name, #name }
  static const std::map<int, std::string> names{CHAPTER_CLASS(SUCCESS),
                                                CHAPTER_ERROR(ACCESS),
                                                CHAPTER_ERROR(AMODE),
                                                CHAPTER_ERROR(ARG),
                                                CHAPTER_ERROR(BAD_FILE),
                                                CHAPTER_ERROR(BUFFER),
                                                CHAPTER_ERROR(COMM),
                                                CHAPTER_ERROR(COUNT),
                                                CHAPTER_ERROR(DISP),
                                                CHAPTER_ERROR(DUP_DATAREP),
#ifdef MPI_ERR_ERRHANDLER
                                                CHAPTER_ERROR(ERRHANDLER),
#endif
                                                CHAPTER_ERROR(FILE),
                                                CHAPTER_ERROR(FILE_EXISTS),
                                                CHAPTER_ERROR(FILE_IN_USE),
                                                CHAPTER_ERROR(INFO),
                                                CHAPTER_ERROR(IO),
                                                CHAPTER_ERROR(NO_SUCH_FILE),
                                                CHAPTER_ERROR(NOT_SAME),
                                                CHAPTER_ERROR(OTHER),
                                                CHAPTER_ERROR(READ_ONLY),
                                                CHAPTER_ERROR(REQUEST),
                                                CHAPTER_ERROR(TYPE),
                                                CHAPTER_ERROR(UNSUPPORTED_DATAREP),
                                                CHAPTER_ERROR(UNSUPPORTED_OPERATION)};
#undef CHAPTER_ERROR
#undef CHAPTER_CLASS
  const auto found = names.find(value);
  return found != names.end() ? found->second : "class " + std::to_string(value);
}

bool is_preloaded() {
  Dl_info info{};
  return ::dladdr(reinterpret_cast<void*>(&MPI_File_open), &info) != 0 &&
         std::string_view(info.dli_fname).find("penstock") != std::string_view::npos;
}

std::string expected_of(const Row& row) {
  if (is_preloaded()) return row.penstock;
#ifdef OPEN_MPI
  return row.ompio;
#else
  return row.romio;
#endif
}

/// Cases that need several ranks.
bool is_of_several(const Row& row) {
  return size() == 1 && row.what.find(": ranks pass ") != std::string::npos;
}

bool has(const std::string& names, const std::string& name) {
  const std::vector<std::string> all = parts_of(names, "/");
  return std::ranges::count(all, name) > 0;
}

std::string text_of(const Returned& returned) {
  return returned.function + " returned " + name_of(class_of(returned.code)) + ": " +
         chapter::text_of(returned.code);
}

/// Differences from both libraries need a section of the standard.
TEST(ErrorClasses, DifferWhereTheStandardSaysSo) {
  for (const Row& row : table()) {
    const bool is_others = has(row.romio, row.penstock) || has(row.ompio, row.penstock);
    EXPECT_EQ(row.why.empty(), is_others) << row.what;
  }
}

TEST(ErrorClasses, AreThoseOfTheTable) {
  // In Open MPI 4.1 and MPICH some errors of file handles are raised by communicators.
  MPI_Errhandler before[2];
  const MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  for (int i = 0; i < 2; ++i) {
    MPI_Comm_get_errhandler(comms[i], &before[i]);
    MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
  }
  const std::vector<Row> rows = table();
  ASSERT_EQ(rows.size(), error_cases().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ErrorCase& one = error_cases()[i];
    ASSERT_EQ(rows[i].what, one.what);
    const std::string expected = expected_of(rows[i]);
    if (has(expected, "hangs") || has(expected, "crashes") || is_of_several(rows[i])) continue;
    for (const Returned& returned : one.call())
      EXPECT_TRUE(has(expected, name_of(class_of(returned.code))))
          << one.what << ": " << text_of(returned) << "; expected " << expected;
    barrier();
  }
  for (int i = 0; i < 2; ++i) {
    MPI_Comm_set_errhandler(comms[i], before[i]);
    MPI_Errhandler_free(&before[i]);
  }
}

}  // namespace
