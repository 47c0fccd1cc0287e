// The data access routines (MPI 4.1, table 14.1), each as a function with the same parameters, for
// tests that make one mistake with all of them.
#pragma once

#include <mpi.h>

#include <vector>

namespace chapter {

struct Arguments {
  MPI_Offset offset = 0;
  int count = 1;
  MPI_Datatype type = MPI_INT;
  bool has_buffer = true;
};

enum class Pointer { explicit_offset, individual, shared, ordered };

struct Access {
  const char* name;
  Pointer pointer;
  bool writes, collective;
  int (*call)(MPI_File file, void* buffer, const Arguments& with);
};

template <auto function>
int blocking_at(MPI_File file, void* buffer, const Arguments& with) {
  return function(file, with.offset, buffer, with.count, with.type, MPI_STATUS_IGNORE);
}

template <auto function>
int blocking(MPI_File file, void* buffer, const Arguments& with) {
  return function(file, buffer, with.count, with.type, MPI_STATUS_IGNORE);
}

template <auto function>
int nonblocking_at(MPI_File file, void* buffer, const Arguments& with) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = function(file, with.offset, buffer, with.count, with.type, &request);
  return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

template <auto function>
int nonblocking(MPI_File file, void* buffer, const Arguments& with) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = function(file, buffer, with.count, with.type, &request);
  return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

template <auto begin, auto end>
int split_at(MPI_File file, void* buffer, const Arguments& with) {
  const int code = begin(file, with.offset, buffer, with.count, with.type);
  return code != MPI_SUCCESS ? code : end(file, buffer, MPI_STATUS_IGNORE);
}

template <auto begin, auto end>
int split(MPI_File file, void* buffer, const Arguments& with) {
  const int code = begin(file, buffer, with.count, with.type);
  return code != MPI_SUCCESS ? code : end(file, buffer, MPI_STATUS_IGNORE);
}

inline const std::vector<Access>& accesses() {
  constexpr bool reads = false, writes = true, alone = false, together = true;
  constexpr auto at = Pointer::explicit_offset, own = Pointer::individual;
  constexpr auto shared = Pointer::shared, ordered = Pointer::ordered;
  static const std::vector<Access> all{
      {"read_at", at, reads, alone, blocking_at<MPI_File_read_at>},
      {"write_at", at, writes, alone, blocking_at<MPI_File_write_at>},
      {"iread_at", at, reads, alone, nonblocking_at<MPI_File_iread_at>},
      {"iwrite_at", at, writes, alone, nonblocking_at<MPI_File_iwrite_at>},
      {"read_at_all", at, reads, together, blocking_at<MPI_File_read_at_all>},
      {"write_at_all", at, writes, together, blocking_at<MPI_File_write_at_all>},
      {"iread_at_all", at, reads, together, nonblocking_at<MPI_File_iread_at_all>},
      {"iwrite_at_all", at, writes, together, nonblocking_at<MPI_File_iwrite_at_all>},
      {"read_at_all_begin", at, reads, together,
       split_at<MPI_File_read_at_all_begin, MPI_File_read_at_all_end>},
      {"write_at_all_begin", at, writes, together,
       split_at<MPI_File_write_at_all_begin, MPI_File_write_at_all_end>},
      {"read", own, reads, alone, blocking<MPI_File_read>},
      {"write", own, writes, alone, blocking<MPI_File_write>},
      {"iread", own, reads, alone, nonblocking<MPI_File_iread>},
      {"iwrite", own, writes, alone, nonblocking<MPI_File_iwrite>},
      {"read_all", own, reads, together, blocking<MPI_File_read_all>},
      {"write_all", own, writes, together, blocking<MPI_File_write_all>},
      {"iread_all", own, reads, together, nonblocking<MPI_File_iread_all>},
      {"iwrite_all", own, writes, together, nonblocking<MPI_File_iwrite_all>},
      {"read_all_begin", own, reads, together,
       split<MPI_File_read_all_begin, MPI_File_read_all_end>},
      {"write_all_begin", own, writes, together,
       split<MPI_File_write_all_begin, MPI_File_write_all_end>},
      {"read_shared", shared, reads, alone, blocking<MPI_File_read_shared>},
      {"write_shared", shared, writes, alone, blocking<MPI_File_write_shared>},
      {"iread_shared", shared, reads, alone, nonblocking<MPI_File_iread_shared>},
      {"iwrite_shared", shared, writes, alone, nonblocking<MPI_File_iwrite_shared>},
      {"read_ordered", ordered, reads, together, blocking<MPI_File_read_ordered>},
      {"write_ordered", ordered, writes, together, blocking<MPI_File_write_ordered>},
      {"read_ordered_begin", ordered, reads, together,
       split<MPI_File_read_ordered_begin, MPI_File_read_ordered_end>},
      {"write_ordered_begin", ordered, writes, together,
       split<MPI_File_write_ordered_begin, MPI_File_write_ordered_end>}};
  return all;
}

}  // namespace chapter
