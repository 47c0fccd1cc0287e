// MPI 4.1, section 14.4: data access. The functions differ in positioning, coordination and
// synchronism; MpiFile does the work.
#include "mpi_io/names/export.hpp"
#include "mpi_io/names/guard.hpp"
#include "mpi_io/requests.hpp"

using namespace penstock;
using namespace penstock::dropin;

namespace {

/// `buffer`: only read by a write.
DataAccess access_of(Direction direction, DataAccess::At at, Company company, MPI_Offset offset,
                     const void* buffer, std::int64_t count, MPI_Datatype type) {
  return {direction, at, company, offset, const_cast<void*>(buffer), count, type};
}

int blocking(MPI_File fh, const DataAccess& access, MPI_Status* status) {
  return with_file(fh, [&](auto& file) { file->access(access, status); });
}

int nonblocking(MPI_File fh, const DataAccess& access, MPI_Request* request) {
  return with_file(fh, [&](auto& file) {
    if (request == nullptr) throw_mpi(MPI_ERR_ARG, "request is a null pointer");
    *request = make_request(fh, file, file->begin(access));
  });
}

int split_begin(const char* name, MPI_File fh, const DataAccess& access) {
  return with_file(fh, [&](auto& file) { file->begin_split(name, access); });
}

int split_end(const char* name, MPI_File fh, MPI_Status* status) {
  return with_file(fh, [&](auto& file) { file->end_split(name, status); });
}

}  // namespace

// Defines a function under both of its names.
#define PENSTOCK_DEFINE(name, parameters, call) \
  int P##name parameters {                      \
    return call;                                \
  }                                             \
  PENSTOCK_MPI_NAME(name)

// The parameters other than count and datatype: the buffer, and an explicit offset.
#define PENSTOCK_BUFFER_read void*
#define PENSTOCK_BUFFER_write const void*
#define PENSTOCK_PLACE_explicit_offset MPI_File fh, MPI_Offset offset
#define PENSTOCK_PLACE_individual MPI_File fh
#define PENSTOCK_PLACE_shared MPI_File fh
#define PENSTOCK_PLACE_ordered MPI_File fh
#define PENSTOCK_OFFSET_explicit_offset offset
#define PENSTOCK_OFFSET_individual 0
#define PENSTOCK_OFFSET_shared 0
#define PENSTOCK_OFFSET_ordered 0
#define PENSTOCK_PARAMETERS(verb, at, Count) \
  PENSTOCK_PLACE_##at, PENSTOCK_BUFFER_##verb buf, Count count, MPI_Datatype datatype
#define PENSTOCK_ACCESS(verb, at, company)                                                    \
  access_of(Direction::verb, DataAccess::At::at, Company::company, PENSTOCK_OFFSET_##at, buf, \
            count, datatype)

// For one cell of the table: blocking functions, functions with a request, and split ones. `c`:
// nothing or _c, for counts of type `Count`.
#define PENSTOCK_BLOCKING(name, verb, at, company, c, Count)                                       \
  PENSTOCK_DEFINE(MPI_File_##name##c, (PENSTOCK_PARAMETERS(verb, at, Count), MPI_Status * status), \
                  blocking(fh, PENSTOCK_ACCESS(verb, at, company), status))
#define PENSTOCK_NONBLOCKING(name, verb, at, company, c, Count)                  \
  PENSTOCK_DEFINE(MPI_File_i##name##c,                                           \
                  (PENSTOCK_PARAMETERS(verb, at, Count), MPI_Request * request), \
                  nonblocking(fh, PENSTOCK_ACCESS(verb, at, company), request))
#define PENSTOCK_BEGIN(name, verb, at, c, Count)                                      \
  PENSTOCK_DEFINE(MPI_File_##name##_begin##c, (PENSTOCK_PARAMETERS(verb, at, Count)), \
                  split_begin(#name, fh, PENSTOCK_ACCESS(verb, at, collective)))
#define PENSTOCK_END(name, verb)                                              \
  PENSTOCK_DEFINE(MPI_File_##name##_end,                                      \
                  (MPI_File fh, PENSTOCK_BUFFER_##verb, MPI_Status * status), \
                  split_end(#name, fh, status))

/// MPI 4.1, table 14.1.
#define PENSTOCK_TABLE(verb, c, Count)                                              \
  PENSTOCK_BLOCKING(verb##_at, verb, explicit_offset, independent, c, Count);       \
  PENSTOCK_NONBLOCKING(verb##_at, verb, explicit_offset, independent, c, Count);    \
  PENSTOCK_BLOCKING(verb##_at_all, verb, explicit_offset, collective, c, Count);    \
  PENSTOCK_NONBLOCKING(verb##_at_all, verb, explicit_offset, collective, c, Count); \
  PENSTOCK_BEGIN(verb##_at_all, verb, explicit_offset, c, Count);                   \
  PENSTOCK_BLOCKING(verb, verb, individual, independent, c, Count);                 \
  PENSTOCK_NONBLOCKING(verb, verb, individual, independent, c, Count);              \
  PENSTOCK_BLOCKING(verb##_all, verb, individual, collective, c, Count);            \
  PENSTOCK_NONBLOCKING(verb##_all, verb, individual, collective, c, Count);         \
  PENSTOCK_BEGIN(verb##_all, verb, individual, c, Count);                           \
  PENSTOCK_BLOCKING(verb##_shared, verb, shared, independent, c, Count);            \
  PENSTOCK_NONBLOCKING(verb##_shared, verb, shared, independent, c, Count);         \
  PENSTOCK_BLOCKING(verb##_ordered, verb, ordered, collective, c, Count);           \
  PENSTOCK_BEGIN(verb##_ordered, verb, ordered, c, Count)
#define PENSTOCK_ENDS(verb)          \
  PENSTOCK_END(verb##_at_all, verb); \
  PENSTOCK_END(verb##_all, verb);    \
  PENSTOCK_END(verb##_ordered, verb)

#pragma GCC visibility push(default)
extern "C" {

PENSTOCK_TABLE(read, , int);
PENSTOCK_TABLE(write, , int);
PENSTOCK_ENDS(read);
PENSTOCK_ENDS(write);
#ifdef PENSTOCK_HAVE_MPI_FILE_READ_C
PENSTOCK_TABLE(read, _c, MPI_Count);
PENSTOCK_TABLE(write, _c, MPI_Count);
#endif

}  // extern "C"
#pragma GCC visibility pop
