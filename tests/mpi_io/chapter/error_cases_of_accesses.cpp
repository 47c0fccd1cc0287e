#include "accesses.hpp"
#include "error_case_parts.hpp"

namespace chapter {
namespace {

/// For all data access routines that are `wanted`, one after the other, each with a file of its
/// own.
template <class Wanted>
Codes all_accesses(int amode, const Arguments& with, const Wanted& wanted) {
  Codes codes;
  for (const Access& access : accesses()) {
    if (!wanted(access)) continue;
    std::vector<int> memory(100);
    codes.push_back({access.name, with_file(amode, [&](MPI_File file) {
                       return access.call(file, with.has_buffer ? memory.data() : nullptr, with);
                     })});
  }
  return codes;
}

bool any(const Access&) {
  return true;
}
bool has_offset(const Access& access) {
  return access.pointer == Pointer::explicit_offset;
}
bool needs_no_shared_pointer(const Access& access) {
  return has_offset(access) || access.pointer == Pointer::individual;
}

Codes seeks(MPI_Offset offset, int whence) {
  return with_file(update, [&](MPI_File file) {
    return Codes{{"seek", MPI_File_seek(file, offset, whence)},
                 {"seek_shared", MPI_File_seek_shared(file, offset, whence)}};
  });
}

const std::vector<ErrorCase> of_accesses{
    {"access: the count is negative", [] { return all_accesses(update, {.count = -1}, any); }},
    {"access: the datatype is null",
     [] { return all_accesses(update, {.type = MPI_DATATYPE_NULL}, any); }},
    {"access: the datatype is not committed",
     [] {
       MPI_Datatype made = made_of({0, 2});
       Codes codes = all_accesses(update, {.type = made}, any);
       MPI_Type_free(&made);
       return codes;
     }},
    {"access: the offset is negative",
     [] { return all_accesses(update, {.offset = -1}, has_offset); }},
    {"access: the buffer is a null pointer",
     [] { return all_accesses(update, {.has_buffer = false}, any); }},
    {"access: the buffer is a null pointer, of no bytes",
     [] { return all_accesses(update, {.count = 0, .has_buffer = false}, any); }},
    {"access: bytes are no whole number of etypes",
     [] {
       Codes codes;
       for (const Access& access : accesses()) {
         int number = 0;
         codes.push_back({access.name, with_file(update, [&](MPI_File file) {
                            view(file, 0, MPI_INT, MPI_INT);
                            return access.call(file, &number, {.count = 3, .type = MPI_CHAR});
                          })});
       }
       return codes;
     }},
    {"write: a file that is only read",
     [] {
       return all_accesses(MPI_MODE_RDONLY, {}, [](const Access& access) { return access.writes; });
     }},
    {"read: a file that is only written",
     [] {
       return all_accesses(MPI_MODE_WRONLY, {},
                           [](const Access& access) { return !access.writes; });
     }},
    {"read: a sequential file, not by the shared pointer",
     [] {
       return all_accesses(MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, {}, [](const Access& access) {
         return !access.writes && needs_no_shared_pointer(access);
       });
     }},
    {"write: a sequential file, not by the shared pointer",
     [] {
       return all_accesses(MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, {}, [](const Access& access) {
         return access.writes && needs_no_shared_pointer(access);
       });
     }},
    {"seek: whence is unknown", [] { return seeks(0, 77); }},
    {"seek: to a negative place", [] { return seeks(-1, MPI_SEEK_SET); }},
    {"seek: from here to a negative place", [] { return seeks(-1, MPI_SEEK_CUR); }},
    {"seek: from the end to a negative place", [] { return seeks(-1000, MPI_SEEK_END); }},
    {"seek_shared: ranks pass different offsets",
     [] {
       return one("seek_shared", with_file(update, [](MPI_File file) {
                    return MPI_File_seek_shared(file, rank(), MPI_SEEK_SET);
                  }));
     }},
    {"seek, get_position and the like: a sequential file",
     [] {
       return with_file(MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, [](MPI_File file) {
         MPI_Offset place = 0;
         return Codes{{"seek", MPI_File_seek(file, 0, MPI_SEEK_SET)},
                      {"get_position", MPI_File_get_position(file, &place)},
                      {"seek_shared", MPI_File_seek_shared(file, 0, MPI_SEEK_SET)},
                      {"get_position_shared", MPI_File_get_position_shared(file, &place)}};
       });
     }},
    {"get_byte_offset: a sequential file",
     [] {
       return one("get_byte_offset",
                  with_file(MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, [](MPI_File file) {
                    MPI_Offset place = 0;
                    return MPI_File_get_byte_offset(file, 0, &place);
                  }));
     }},
    {"split: an end without its begin",
     [] {
       return with_file(update, [](MPI_File file) {
         int number = 0;
         return Codes{
             {"write_all_end", MPI_File_write_all_end(file, &number, MPI_STATUS_IGNORE)},
             {"read_at_all_end", MPI_File_read_at_all_end(file, &number, MPI_STATUS_IGNORE)},
             {"read_ordered_end", MPI_File_read_ordered_end(file, &number, MPI_STATUS_IGNORE)}};
       });
     }},
    {"split: the end of another call",
     [] {
       return within_split([](MPI_File file, const int* number) {
         return one("write_all_end", MPI_File_write_all_end(file, number, MPI_STATUS_IGNORE));
       });
     }},
    {"split: the end has another buffer",
     [] {
       return within_split([](MPI_File file, const int*) {
         const int other = 0;
         return one("write_at_all_end", MPI_File_write_at_all_end(file, &other, MPI_STATUS_IGNORE));
       });
     }},
    {"split: a second begin before the end",
     [] {
       return within_split([](MPI_File file, const int*) {
         static int other;
         return Codes{
             {"read_all_begin", MPI_File_read_all_begin(file, &other, 1, MPI_INT)},
             {"write_at_all_begin", MPI_File_write_at_all_begin(file, 0, &other, 1, MPI_INT)},
             {"write_ordered_begin", MPI_File_write_ordered_begin(file, &other, 1, MPI_INT)}};
       });
     }},
    {"split: a collective access before the end",
     [] {
       return within_split([](MPI_File file, const int*) {
         int other = 0;
         return Codes{{"write_at_all", MPI_File_write_at_all(file, rank() * 4, &other, 1, MPI_INT,
                                                             MPI_STATUS_IGNORE)},
                      {"read_all", MPI_File_read_all(file, &other, 1, MPI_INT, MPI_STATUS_IGNORE)}};
       });
     }},
    {"split: an independent access before the end",
     [] {
       return within_split([](MPI_File file, const int*) {
         int other = 0;
         return one("read_at", MPI_File_read_at(file, 0, &other, 1, MPI_INT, MPI_STATUS_IGNORE));
       });
     }},
    {"split: set_size, preallocate before the end",
     [] {
       return within_split([](MPI_File file, const int*) {
         return Codes{{"set_size", MPI_File_set_size(file, 400)},
                      {"preallocate", MPI_File_preallocate(file, 400)}};
       });
     }},
    {"split: sync before the end",
     [] {
       return within_split(
           [](MPI_File file, const int*) { return one("sync", MPI_File_sync(file)); });
     }},
    {"split: set_atomicity before the end",
     [] {
       return within_split([](MPI_File file, const int*) {
         return one("set_atomicity", MPI_File_set_atomicity(file, 1));
       });
     }},
};

}  // namespace

const std::vector<ErrorCase>& cases_of_accesses() {
  return of_accesses;
}

}  // namespace chapter
