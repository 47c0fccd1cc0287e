// Common parts of error_cases.cpp and error_cases_of_accesses.cpp.
#pragma once

#include <vector>

#include "chapter.hpp"
#include "error_cases.hpp"

namespace chapter {

const std::vector<ErrorCase>& cases_of_accesses();

using Codes = std::vector<Returned>;

inline constexpr int update = MPI_MODE_RDWR | MPI_MODE_CREATE;

inline Codes one(const char* function, int code) {
  return {{function, code}};
}

/// The result of `work` with a file of 100 ints opened with `amode`. Whether the file can be closed
/// depends on the work.
template <class Work>
auto with_file(int amode, const Work& work) {
  make_file(path_of("cases"), std::vector<int>(100, 7));
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_WORLD, path_of("cases").c_str(), amode, MPI_INFO_NULL, &file);
  const auto returned = work(file);
  MPI_File_close(&file);
  return returned;
}

inline MPI_Datatype made_of(std::vector<int> places) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(static_cast<int>(places.size()), 1, places.data(), MPI_INT, &made);
  return made;
}

inline int view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                const char* name = "native") {
  return MPI_File_set_view(file, displacement, etype, filetype, name, MPI_INFO_NULL);
}

/// `work` between the begin and the end of a split write.
template <class Work>
Codes within_split(const Work& work) {
  return with_file(update, [&](MPI_File file) {
    const int number = rank();
    MPI_File_write_at_all_begin(file, rank() * 4, &number, 1, MPI_INT);
    Codes codes = work(file, &number);
    MPI_File_write_at_all_end(file, &number, MPI_STATUS_IGNORE);
    return codes;
  });
}

}  // namespace chapter
