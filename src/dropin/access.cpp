// MPI 4.1, section 14.4: data access. The functions differ in where they begin, with whom, and when
// they return; what they do is MpiFile's.
#include "dropin/export.hpp"
#include "dropin/guard.hpp"
#include "mpiio/requests.hpp"

using namespace penstock;
using namespace penstock::dropin;

namespace {

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

int split_end(const char* name, MPI_File fh, const void* buffer, MPI_Status* status) {
  return with_file(fh, [&](auto& file) { file->end_split(name, buffer, status); });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int PMPI_File_read_at(MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype,
                      MPI_Status* status) {
  return blocking(fh,
                  {Direction::read, DataAccess::At::explicit_offset, Company::independent, offset,
                   buf, count, datatype},
                  status);
}
int PMPI_File_iread_at(MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype,
                       MPI_Request* request) {
  return nonblocking(fh,
                     {Direction::read, DataAccess::At::explicit_offset, Company::independent,
                      offset, buf, count, datatype},
                     request);
}
int PMPI_File_read_at_all(MPI_File fh, MPI_Offset offset, void* buf, int count,
                          MPI_Datatype datatype, MPI_Status* status) {
  return blocking(fh,
                  {Direction::read, DataAccess::At::explicit_offset, Company::collective, offset,
                   buf, count, datatype},
                  status);
}
int PMPI_File_iread_at_all(MPI_File fh, MPI_Offset offset, void* buf, int count,
                           MPI_Datatype datatype, MPI_Request* request) {
  return nonblocking(fh,
                     {Direction::read, DataAccess::At::explicit_offset, Company::collective, offset,
                      buf, count, datatype},
                     request);
}
int PMPI_File_read_at_all_begin(MPI_File fh, MPI_Offset offset, void* buf, int count,
                                MPI_Datatype datatype) {
  return split_begin("read_at_all", fh,
                     {Direction::read, DataAccess::At::explicit_offset, Company::collective, offset,
                      buf, count, datatype});
}
int PMPI_File_read_at_all_end(MPI_File fh, void* buf, MPI_Status* status) {
  return split_end("read_at_all", fh, buf, status);
}
int PMPI_File_read(MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status) {
  return blocking(
      fh,
      {Direction::read, DataAccess::At::individual, Company::independent, 0, buf, count, datatype},
      status);
}
int PMPI_File_iread(MPI_File fh, void* buf, int count, MPI_Datatype datatype,
                    MPI_Request* request) {
  return nonblocking(
      fh,
      {Direction::read, DataAccess::At::individual, Company::independent, 0, buf, count, datatype},
      request);
}
int PMPI_File_read_all(MPI_File fh, void* buf, int count, MPI_Datatype datatype,
                       MPI_Status* status) {
  return blocking(
      fh,
      {Direction::read, DataAccess::At::individual, Company::collective, 0, buf, count, datatype},
      status);
}
int PMPI_File_iread_all(MPI_File fh, void* buf, int count, MPI_Datatype datatype,
                        MPI_Request* request) {
  return nonblocking(
      fh,
      {Direction::read, DataAccess::At::individual, Company::collective, 0, buf, count, datatype},
      request);
}
int PMPI_File_read_all_begin(MPI_File fh, void* buf, int count, MPI_Datatype datatype) {
  return split_begin(
      "read_all", fh,
      {Direction::read, DataAccess::At::individual, Company::collective, 0, buf, count, datatype});
}
int PMPI_File_read_all_end(MPI_File fh, void* buf, MPI_Status* status) {
  return split_end("read_all", fh, buf, status);
}
int PMPI_File_read_shared(MPI_File fh, void* buf, int count, MPI_Datatype datatype,
                          MPI_Status* status) {
  return blocking(
      fh, {Direction::read, DataAccess::At::shared, Company::independent, 0, buf, count, datatype},
      status);
}
int PMPI_File_iread_shared(MPI_File fh, void* buf, int count, MPI_Datatype datatype,
                           MPI_Request* request) {
  return nonblocking(
      fh, {Direction::read, DataAccess::At::shared, Company::independent, 0, buf, count, datatype},
      request);
}
int PMPI_File_read_ordered(MPI_File fh, void* buf, int count, MPI_Datatype datatype,
                           MPI_Status* status) {
  return blocking(
      fh, {Direction::read, DataAccess::At::ordered, Company::collective, 0, buf, count, datatype},
      status);
}
int PMPI_File_read_ordered_begin(MPI_File fh, void* buf, int count, MPI_Datatype datatype) {
  return split_begin(
      "read_ordered", fh,
      {Direction::read, DataAccess::At::ordered, Company::collective, 0, buf, count, datatype});
}
int PMPI_File_read_ordered_end(MPI_File fh, void* buf, MPI_Status* status) {
  return split_end("read_ordered", fh, buf, status);
}
int PMPI_File_write_at(MPI_File fh, MPI_Offset offset, const void* buf, int count,
                       MPI_Datatype datatype, MPI_Status* status) {
  return blocking(fh,
                  {Direction::write, DataAccess::At::explicit_offset, Company::independent, offset,
                   const_cast<void*>(buf), count, datatype},
                  status);
}
int PMPI_File_iwrite_at(MPI_File fh, MPI_Offset offset, const void* buf, int count,
                        MPI_Datatype datatype, MPI_Request* request) {
  return nonblocking(fh,
                     {Direction::write, DataAccess::At::explicit_offset, Company::independent,
                      offset, const_cast<void*>(buf), count, datatype},
                     request);
}
int PMPI_File_write_at_all(MPI_File fh, MPI_Offset offset, const void* buf, int count,
                           MPI_Datatype datatype, MPI_Status* status) {
  return blocking(fh,
                  {Direction::write, DataAccess::At::explicit_offset, Company::collective, offset,
                   const_cast<void*>(buf), count, datatype},
                  status);
}
int PMPI_File_iwrite_at_all(MPI_File fh, MPI_Offset offset, const void* buf, int count,
                            MPI_Datatype datatype, MPI_Request* request) {
  return nonblocking(fh,
                     {Direction::write, DataAccess::At::explicit_offset, Company::collective,
                      offset, const_cast<void*>(buf), count, datatype},
                     request);
}
int PMPI_File_write_at_all_begin(MPI_File fh, MPI_Offset offset, const void* buf, int count,
                                 MPI_Datatype datatype) {
  return split_begin("write_at_all", fh,
                     {Direction::write, DataAccess::At::explicit_offset, Company::collective,
                      offset, const_cast<void*>(buf), count, datatype});
}
int PMPI_File_write_at_all_end(MPI_File fh, const void* buf, MPI_Status* status) {
  return split_end("write_at_all", fh, buf, status);
}
int PMPI_File_write(MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                    MPI_Status* status) {
  return blocking(fh,
                  {Direction::write, DataAccess::At::individual, Company::independent, 0,
                   const_cast<void*>(buf), count, datatype},
                  status);
}
int PMPI_File_iwrite(MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                     MPI_Request* request) {
  return nonblocking(fh,
                     {Direction::write, DataAccess::At::individual, Company::independent, 0,
                      const_cast<void*>(buf), count, datatype},
                     request);
}
int PMPI_File_write_all(MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                        MPI_Status* status) {
  return blocking(fh,
                  {Direction::write, DataAccess::At::individual, Company::collective, 0,
                   const_cast<void*>(buf), count, datatype},
                  status);
}
int PMPI_File_iwrite_all(MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                         MPI_Request* request) {
  return nonblocking(fh,
                     {Direction::write, DataAccess::At::individual, Company::collective, 0,
                      const_cast<void*>(buf), count, datatype},
                     request);
}
int PMPI_File_write_all_begin(MPI_File fh, const void* buf, int count, MPI_Datatype datatype) {
  return split_begin("write_all", fh,
                     {Direction::write, DataAccess::At::individual, Company::collective, 0,
                      const_cast<void*>(buf), count, datatype});
}
int PMPI_File_write_all_end(MPI_File fh, const void* buf, MPI_Status* status) {
  return split_end("write_all", fh, buf, status);
}
int PMPI_File_write_shared(MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                           MPI_Status* status) {
  return blocking(fh,
                  {Direction::write, DataAccess::At::shared, Company::independent, 0,
                   const_cast<void*>(buf), count, datatype},
                  status);
}
int PMPI_File_iwrite_shared(MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                            MPI_Request* request) {
  return nonblocking(fh,
                     {Direction::write, DataAccess::At::shared, Company::independent, 0,
                      const_cast<void*>(buf), count, datatype},
                     request);
}
int PMPI_File_write_ordered(MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                            MPI_Status* status) {
  return blocking(fh,
                  {Direction::write, DataAccess::At::ordered, Company::collective, 0,
                   const_cast<void*>(buf), count, datatype},
                  status);
}
int PMPI_File_write_ordered_begin(MPI_File fh, const void* buf, int count, MPI_Datatype datatype) {
  return split_begin("write_ordered", fh,
                     {Direction::write, DataAccess::At::ordered, Company::collective, 0,
                      const_cast<void*>(buf), count, datatype});
}
int PMPI_File_write_ordered_end(MPI_File fh, const void* buf, MPI_Status* status) {
  return split_end("write_ordered", fh, buf, status);
}

#ifdef PENSTOCK_HAVE_MPI_FILE_READ_C
int PMPI_File_read_at_c(MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count,
                        MPI_Datatype datatype, MPI_Status* status) {
  return blocking(fh,
                  {Direction::read, DataAccess::At::explicit_offset, Company::independent, offset,
                   buf, count, datatype},
                  status);
}
int PMPI_File_iread_at_c(MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count,
                         MPI_Datatype datatype, MPI_Request* request) {
  return nonblocking(fh,
                     {Direction::read, DataAccess::At::explicit_offset, Company::independent,
                      offset, buf, count, datatype},
                     request);
}
int PMPI_File_read_at_all_c(MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count,
                            MPI_Datatype datatype, MPI_Status* status) {
  return blocking(fh,
                  {Direction::read, DataAccess::At::explicit_offset, Company::collective, offset,
                   buf, count, datatype},
                  status);
}
int PMPI_File_iread_at_all_c(MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count,
                             MPI_Datatype datatype, MPI_Request* request) {
  return nonblocking(fh,
                     {Direction::read, DataAccess::At::explicit_offset, Company::collective, offset,
                      buf, count, datatype},
                     request);
}
int PMPI_File_read_at_all_begin_c(MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count,
                                  MPI_Datatype datatype) {
  return split_begin("read_at_all", fh,
                     {Direction::read, DataAccess::At::explicit_offset, Company::collective, offset,
                      buf, count, datatype});
}
int PMPI_File_read_c(MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                     MPI_Status* status) {
  return blocking(
      fh,
      {Direction::read, DataAccess::At::individual, Company::independent, 0, buf, count, datatype},
      status);
}
int PMPI_File_iread_c(MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                      MPI_Request* request) {
  return nonblocking(
      fh,
      {Direction::read, DataAccess::At::individual, Company::independent, 0, buf, count, datatype},
      request);
}
int PMPI_File_read_all_c(MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                         MPI_Status* status) {
  return blocking(
      fh,
      {Direction::read, DataAccess::At::individual, Company::collective, 0, buf, count, datatype},
      status);
}
int PMPI_File_iread_all_c(MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                          MPI_Request* request) {
  return nonblocking(
      fh,
      {Direction::read, DataAccess::At::individual, Company::collective, 0, buf, count, datatype},
      request);
}
int PMPI_File_read_all_begin_c(MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype) {
  return split_begin(
      "read_all", fh,
      {Direction::read, DataAccess::At::individual, Company::collective, 0, buf, count, datatype});
}
int PMPI_File_read_shared_c(MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                            MPI_Status* status) {
  return blocking(
      fh, {Direction::read, DataAccess::At::shared, Company::independent, 0, buf, count, datatype},
      status);
}
int PMPI_File_iread_shared_c(MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                             MPI_Request* request) {
  return nonblocking(
      fh, {Direction::read, DataAccess::At::shared, Company::independent, 0, buf, count, datatype},
      request);
}
int PMPI_File_read_ordered_c(MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                             MPI_Status* status) {
  return blocking(
      fh, {Direction::read, DataAccess::At::ordered, Company::collective, 0, buf, count, datatype},
      status);
}
int PMPI_File_read_ordered_begin_c(MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype) {
  return split_begin(
      "read_ordered", fh,
      {Direction::read, DataAccess::At::ordered, Company::collective, 0, buf, count, datatype});
}
int PMPI_File_write_at_c(MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count,
                         MPI_Datatype datatype, MPI_Status* status) {
  return blocking(fh,
                  {Direction::write, DataAccess::At::explicit_offset, Company::independent, offset,
                   const_cast<void*>(buf), count, datatype},
                  status);
}
int PMPI_File_iwrite_at_c(MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count,
                          MPI_Datatype datatype, MPI_Request* request) {
  return nonblocking(fh,
                     {Direction::write, DataAccess::At::explicit_offset, Company::independent,
                      offset, const_cast<void*>(buf), count, datatype},
                     request);
}
int PMPI_File_write_at_all_c(MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count,
                             MPI_Datatype datatype, MPI_Status* status) {
  return blocking(fh,
                  {Direction::write, DataAccess::At::explicit_offset, Company::collective, offset,
                   const_cast<void*>(buf), count, datatype},
                  status);
}
int PMPI_File_iwrite_at_all_c(MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count,
                              MPI_Datatype datatype, MPI_Request* request) {
  return nonblocking(fh,
                     {Direction::write, DataAccess::At::explicit_offset, Company::collective,
                      offset, const_cast<void*>(buf), count, datatype},
                     request);
}
int PMPI_File_write_at_all_begin_c(MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count,
                                   MPI_Datatype datatype) {
  return split_begin("write_at_all", fh,
                     {Direction::write, DataAccess::At::explicit_offset, Company::collective,
                      offset, const_cast<void*>(buf), count, datatype});
}
int PMPI_File_write_c(MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                      MPI_Status* status) {
  return blocking(fh,
                  {Direction::write, DataAccess::At::individual, Company::independent, 0,
                   const_cast<void*>(buf), count, datatype},
                  status);
}
int PMPI_File_iwrite_c(MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                       MPI_Request* request) {
  return nonblocking(fh,
                     {Direction::write, DataAccess::At::individual, Company::independent, 0,
                      const_cast<void*>(buf), count, datatype},
                     request);
}
int PMPI_File_write_all_c(MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                          MPI_Status* status) {
  return blocking(fh,
                  {Direction::write, DataAccess::At::individual, Company::collective, 0,
                   const_cast<void*>(buf), count, datatype},
                  status);
}
int PMPI_File_iwrite_all_c(MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                           MPI_Request* request) {
  return nonblocking(fh,
                     {Direction::write, DataAccess::At::individual, Company::collective, 0,
                      const_cast<void*>(buf), count, datatype},
                     request);
}
int PMPI_File_write_all_begin_c(MPI_File fh, const void* buf, MPI_Count count,
                                MPI_Datatype datatype) {
  return split_begin("write_all", fh,
                     {Direction::write, DataAccess::At::individual, Company::collective, 0,
                      const_cast<void*>(buf), count, datatype});
}
int PMPI_File_write_shared_c(MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                             MPI_Status* status) {
  return blocking(fh,
                  {Direction::write, DataAccess::At::shared, Company::independent, 0,
                   const_cast<void*>(buf), count, datatype},
                  status);
}
int PMPI_File_iwrite_shared_c(MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                              MPI_Request* request) {
  return nonblocking(fh,
                     {Direction::write, DataAccess::At::shared, Company::independent, 0,
                      const_cast<void*>(buf), count, datatype},
                     request);
}
int PMPI_File_write_ordered_c(MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                              MPI_Status* status) {
  return blocking(fh,
                  {Direction::write, DataAccess::At::ordered, Company::collective, 0,
                   const_cast<void*>(buf), count, datatype},
                  status);
}
int PMPI_File_write_ordered_begin_c(MPI_File fh, const void* buf, MPI_Count count,
                                    MPI_Datatype datatype) {
  return split_begin("write_ordered", fh,
                     {Direction::write, DataAccess::At::ordered, Company::collective, 0,
                      const_cast<void*>(buf), count, datatype});
}
#endif

}  // extern "C"
#pragma GCC visibility pop

PENSTOCK_MPI_NAME(MPI_File_read_at);
PENSTOCK_MPI_NAME(MPI_File_iread_at);
PENSTOCK_MPI_NAME(MPI_File_read_at_all);
PENSTOCK_MPI_NAME(MPI_File_iread_at_all);
PENSTOCK_MPI_NAME(MPI_File_read_at_all_begin);
PENSTOCK_MPI_NAME(MPI_File_read_at_all_end);
PENSTOCK_MPI_NAME(MPI_File_read);
PENSTOCK_MPI_NAME(MPI_File_iread);
PENSTOCK_MPI_NAME(MPI_File_read_all);
PENSTOCK_MPI_NAME(MPI_File_iread_all);
PENSTOCK_MPI_NAME(MPI_File_read_all_begin);
PENSTOCK_MPI_NAME(MPI_File_read_all_end);
PENSTOCK_MPI_NAME(MPI_File_read_shared);
PENSTOCK_MPI_NAME(MPI_File_iread_shared);
PENSTOCK_MPI_NAME(MPI_File_read_ordered);
PENSTOCK_MPI_NAME(MPI_File_read_ordered_begin);
PENSTOCK_MPI_NAME(MPI_File_read_ordered_end);
PENSTOCK_MPI_NAME(MPI_File_write_at);
PENSTOCK_MPI_NAME(MPI_File_iwrite_at);
PENSTOCK_MPI_NAME(MPI_File_write_at_all);
PENSTOCK_MPI_NAME(MPI_File_iwrite_at_all);
PENSTOCK_MPI_NAME(MPI_File_write_at_all_begin);
PENSTOCK_MPI_NAME(MPI_File_write_at_all_end);
PENSTOCK_MPI_NAME(MPI_File_write);
PENSTOCK_MPI_NAME(MPI_File_iwrite);
PENSTOCK_MPI_NAME(MPI_File_write_all);
PENSTOCK_MPI_NAME(MPI_File_iwrite_all);
PENSTOCK_MPI_NAME(MPI_File_write_all_begin);
PENSTOCK_MPI_NAME(MPI_File_write_all_end);
PENSTOCK_MPI_NAME(MPI_File_write_shared);
PENSTOCK_MPI_NAME(MPI_File_iwrite_shared);
PENSTOCK_MPI_NAME(MPI_File_write_ordered);
PENSTOCK_MPI_NAME(MPI_File_write_ordered_begin);
PENSTOCK_MPI_NAME(MPI_File_write_ordered_end);
#ifdef PENSTOCK_HAVE_MPI_FILE_READ_C
PENSTOCK_MPI_NAME(MPI_File_read_at_c);
PENSTOCK_MPI_NAME(MPI_File_iread_at_c);
PENSTOCK_MPI_NAME(MPI_File_read_at_all_c);
PENSTOCK_MPI_NAME(MPI_File_iread_at_all_c);
PENSTOCK_MPI_NAME(MPI_File_read_at_all_begin_c);
PENSTOCK_MPI_NAME(MPI_File_read_c);
PENSTOCK_MPI_NAME(MPI_File_iread_c);
PENSTOCK_MPI_NAME(MPI_File_read_all_c);
PENSTOCK_MPI_NAME(MPI_File_iread_all_c);
PENSTOCK_MPI_NAME(MPI_File_read_all_begin_c);
PENSTOCK_MPI_NAME(MPI_File_read_shared_c);
PENSTOCK_MPI_NAME(MPI_File_iread_shared_c);
PENSTOCK_MPI_NAME(MPI_File_read_ordered_c);
PENSTOCK_MPI_NAME(MPI_File_read_ordered_begin_c);
PENSTOCK_MPI_NAME(MPI_File_write_at_c);
PENSTOCK_MPI_NAME(MPI_File_iwrite_at_c);
PENSTOCK_MPI_NAME(MPI_File_write_at_all_c);
PENSTOCK_MPI_NAME(MPI_File_iwrite_at_all_c);
PENSTOCK_MPI_NAME(MPI_File_write_at_all_begin_c);
PENSTOCK_MPI_NAME(MPI_File_write_c);
PENSTOCK_MPI_NAME(MPI_File_iwrite_c);
PENSTOCK_MPI_NAME(MPI_File_write_all_c);
PENSTOCK_MPI_NAME(MPI_File_iwrite_all_c);
PENSTOCK_MPI_NAME(MPI_File_write_all_begin_c);
PENSTOCK_MPI_NAME(MPI_File_write_shared_c);
PENSTOCK_MPI_NAME(MPI_File_iwrite_shared_c);
PENSTOCK_MPI_NAME(MPI_File_write_ordered_c);
PENSTOCK_MPI_NAME(MPI_File_write_ordered_begin_c);
#endif
