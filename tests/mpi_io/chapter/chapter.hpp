// Common parts of the programs of this folder. They use only MPI: the drop-in MPI-IO is preloaded
// into them, and defines the file functions that they call.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "mpi/mpi_main.hpp"

namespace chapter {

using mpi_test::barrier;
using mpi_test::rank;
using mpi_test::size;

using Bytes = std::vector<unsigned char>;

constexpr int ints = 3000;  // written by a rank, unless a test says otherwise
constexpr int read_write = MPI_MODE_RDWR | MPI_MODE_CREATE;

inline std::string path_of(const std::string& name) {
  return mpi_test::folder() + "/" + name;
}

inline int class_of(int code) {
  int value = code;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &value);
  return value;
}

inline std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

inline testing::AssertionResult has_class(int code, int expected) {
  if (class_of(code) == expected) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "the error class is " << class_of(code) << " (" << text_of(code) << "), expected "
         << expected << " (" << text_of(expected) << ")";
}

/// Bytes of the file, read by system calls.
inline Bytes content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

template <class T>
std::vector<T> values(const std::string& path) {
  const Bytes bytes = content(path);
  std::vector<T> all(bytes.size() / sizeof(T));
  std::memcpy(all.data(), bytes.data(), all.size() * sizeof(T));
  return all;
}

/// Made by rank 0; on return all ranks have it.
template <class T>
void make_file(const std::string& path, const std::vector<T>& all) {
  if (rank() == 0)
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(all.data()),
               static_cast<std::streamsize>(all.size() * sizeof(T)));
  barrier();
}

inline bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

inline int count_of(const MPI_Status& status, MPI_Datatype type = MPI_INT) {
  int count = -1;
  MPI_Get_count(&status, type, &count);
  return count;
}

/// The sum over all ranks.
inline std::int64_t sum(std::int64_t value) {
  std::int64_t all = 0;
  MPI_Allreduce(&value, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

/// Pairs of a name and a value.
class Info {
 public:
  Info(std::initializer_list<std::pair<const char*, std::string>> pairs) {
    MPI_Info_create(&info_);
    for (const auto& [name, value] : pairs) MPI_Info_set(info_, name, value.c_str());
  }
  Info(const Info&) = delete;
  ~Info() { MPI_Info_free(&info_); }
  operator MPI_Info() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// The value of a hint in effect; empty: none.
inline std::string hint(MPI_File file, const char* name) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_File_get_info(file, &info);
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  MPI_Info_get(info, name, MPI_MAX_INFO_VAL, value, &found);
  MPI_Info_free(&info);
  return found ? value : "";
}

/// An open file, closed by the destructor.
class File {
 public:
  explicit File(const std::string& name, int amode = MPI_MODE_RDWR | MPI_MODE_CREATE,
                MPI_Info info = MPI_INFO_NULL, MPI_Comm comm = MPI_COMM_WORLD)
      : path(path_of(name)) {
    EXPECT_TRUE(has_class(MPI_File_open(comm, path.c_str(), amode, info, &handle), MPI_SUCCESS));
  }
  File(const File&) = delete;
  ~File() { close(); }
  void close() {
    if (handle != MPI_FILE_NULL) EXPECT_TRUE(has_class(MPI_File_close(&handle), MPI_SUCCESS));
  }
  operator MPI_File() const { return handle; }

  const std::string path;
  MPI_File handle = MPI_FILE_NULL;
};

/// A committed datatype, freed by the destructor.
class Type {
 public:
  explicit Type(MPI_Datatype type) : type_(type) { MPI_Type_commit(&type_); }
  Type(const Type&) = delete;
  ~Type() { MPI_Type_free(&type_); }
  operator MPI_Datatype() const { return type_; }

 private:
  MPI_Datatype type_;
};

/// Every `of`-th int from number `first` on.
inline MPI_Datatype cyclic_ints(int first, int of) {
  MPI_Datatype place = MPI_DATATYPE_NULL, resized = MPI_DATATYPE_NULL;
  const MPI_Aint at = first * static_cast<MPI_Aint>(sizeof(int));
  MPI_Type_create_hindexed_block(1, 1, &at, MPI_INT, &place);
  MPI_Type_create_resized(place, 0, of * static_cast<MPI_Aint>(sizeof(int)), &resized);
  MPI_Type_free(&place);
  return resized;
}

}  // namespace chapter

#define EXPECT_MPI(call) EXPECT_TRUE(chapter::has_class(call, MPI_SUCCESS))
#define EXPECT_CLASS(call, expected) EXPECT_TRUE(chapter::has_class(call, expected))

namespace chapter {

/// Whether this rank is wrong: only the last one, or all.
inline bool is_wrong(bool all) {
  return all || rank() == size() - 1;
}

/// Every rank writes and reads an int.
inline void expect_usable(MPI_File file) {
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  const int mine = 1000 + rank();
  int back = -1;
  EXPECT_MPI(MPI_File_write_at_all(file, rank(), &mine, 1, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT_MPI(MPI_File_read_at_all(file, rank(), &back, 1, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT_EQ(back, mine);
}

}  // namespace chapter
