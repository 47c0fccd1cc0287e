// Blocking messages: while file requests are in flight, a rank that waits for a message progresses
// them, since the sender may wait for their end. The library's non-blocking calls are used then,
// which match blocking ones (MPI 4.1, section 3.7). Not possible for collective calls: blocking and
// non-blocking ones do not match (section 6.12).
#include <vector>

#include "mpi_io/names/export.hpp"
#include "mpi_io/names/progress.hpp"

using namespace penstock;
using namespace penstock::dropin;

namespace {

int wait_for(int code, MPI_Request* request, MPI_Status* status = MPI_STATUS_IGNORE) {
  PENSTOCK_REAL_TEST(PMPI_Test);
  if (code != MPI_SUCCESS) return code;
  return wait_with([&](int* flag) { return test(request, flag, status); });
}

/// A send that progresses together with a receive: PMPI_Sendrecv.
template <class Send, class Receive>
int exchange(Send&& send, Receive&& receive, MPI_Status* status) {
  MPI_Request requests[2];
  int code = receive(&requests[0]);
  if (code != MPI_SUCCESS) return code;
  code = send(&requests[1]);
  if (code != MPI_SUCCESS) {
    MPI_Cancel(&requests[0]);
    MPI_Request_free(&requests[0]);
    return code;
  }
  const int received = wait_for(MPI_SUCCESS, &requests[0], status);
  const int sent = wait_for(MPI_SUCCESS, &requests[1]);
  return received != MPI_SUCCESS ? received : sent;
}

/// A packed copy of a buffer, to send while receiving into it.
template <class Count>
struct Packed {
  template <class Size, class Pack>
  int fill(Size&& size, Pack&& pack) {
    Count bytes = 0, place = 0;
    int code = size(&bytes);
    if (code != MPI_SUCCESS) return code;
    data.resize(static_cast<std::size_t>(bytes));
    code = pack(data.data(), bytes, &place);
    data.resize(static_cast<std::size_t>(place));
    return code;
  }
  Count size() const { return static_cast<Count>(data.size()); }
  std::vector<char> data;
};

}  // namespace

// The functions with counts of type int, and again with `_c` and MPI_Count.

#define PENSTOCK_SEND(name, immediate, Count)                                              \
  int name(const void* buf, Count count, MPI_Datatype datatype, int dest, int tag,         \
           MPI_Comm comm) {                                                                \
    PENSTOCK_REAL(name);                                                                   \
    if (stays_out()) return real(buf, count, datatype, dest, tag, comm);                   \
    MPI_Request request;                                                                   \
    return wait_for(immediate(buf, count, datatype, dest, tag, comm, &request), &request); \
  }

#define PENSTOCK_RECEIVE(c, Count)                                                             \
  int PMPI_Recv##c(void* buf, Count count, MPI_Datatype datatype, int source, int tag,         \
                   MPI_Comm comm, MPI_Status* status) {                                        \
    PENSTOCK_REAL(PMPI_Recv##c);                                                               \
    if (stays_out()) return real(buf, count, datatype, source, tag, comm, status);             \
    MPI_Request request;                                                                       \
    return wait_for(MPI_Irecv##c(buf, count, datatype, source, tag, comm, &request), &request, \
                    status);                                                                   \
  }                                                                                            \
  int PMPI_Mrecv##c(void* buf, Count count, MPI_Datatype datatype, MPI_Message* message,       \
                    MPI_Status* status) {                                                      \
    PENSTOCK_REAL(PMPI_Mrecv##c);                                                              \
    if (stays_out()) return real(buf, count, datatype, message, status);                       \
    MPI_Request request;                                                                       \
    return wait_for(MPI_Imrecv##c(buf, count, datatype, message, &request), &request, status); \
  }

#define PENSTOCK_SEND_AND_RECEIVE(c, Count)                                                       \
  int PMPI_Sendrecv##c(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, int dest,     \
                       int sendtag, void* recvbuf, Count recvcount, MPI_Datatype recvtype,        \
                       int source, int recvtag, MPI_Comm comm, MPI_Status* status) {              \
    PENSTOCK_REAL(PMPI_Sendrecv##c);                                                              \
    if (stays_out())                                                                              \
      return real(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,      \
                  source, recvtag, comm, status);                                                 \
    return exchange(                                                                              \
        [&](MPI_Request* request) {                                                               \
          return MPI_Isend##c(sendbuf, sendcount, sendtype, dest, sendtag, comm, request);        \
        },                                                                                        \
        [&](MPI_Request* request) {                                                               \
          return MPI_Irecv##c(recvbuf, recvcount, recvtype, source, recvtag, comm, request);      \
        },                                                                                        \
        status);                                                                                  \
  }                                                                                               \
  int PMPI_Sendrecv_replace##c(void* buf, Count count, MPI_Datatype datatype, int dest,           \
                               int sendtag, int source, int recvtag, MPI_Comm comm,               \
                               MPI_Status* status) {                                              \
    PENSTOCK_REAL(PMPI_Sendrecv_replace##c);                                                      \
    if (stays_out())                                                                              \
      return real(buf, count, datatype, dest, sendtag, source, recvtag, comm, status);            \
    Packed<Count> packed;                                                                         \
    const int code =                                                                              \
        packed.fill([&](auto* bytes) { return MPI_Pack_size##c(count, datatype, comm, bytes); },  \
                    [&](void* to, auto bytes, auto* place) {                                      \
                      return MPI_Pack##c(buf, count, datatype, to, bytes, place, comm);           \
                    });                                                                           \
    if (code != MPI_SUCCESS) return code;                                                         \
    return exchange(                                                                              \
        [&](MPI_Request* request) {                                                               \
          return MPI_Isend##c(packed.data.data(), packed.size(), MPI_PACKED, dest, sendtag, comm, \
                              request);                                                           \
        },                                                                                        \
        [&](MPI_Request* request) {                                                               \
          return MPI_Irecv##c(buf, count, datatype, source, recvtag, comm, request);              \
        },                                                                                        \
        status);                                                                                  \
  }

#define PENSTOCK_MESSAGES(c, Count)                  \
  PENSTOCK_SEND(PMPI_Send##c, MPI_Isend##c, Count)   \
  PENSTOCK_SEND(PMPI_Ssend##c, MPI_Issend##c, Count) \
  PENSTOCK_SEND(PMPI_Rsend##c, MPI_Irsend##c, Count) \
  PENSTOCK_RECEIVE(c, Count)                         \
  PENSTOCK_SEND_AND_RECEIVE(c, Count)

#pragma GCC visibility push(default)
extern "C" {

PENSTOCK_MESSAGES(, int)
#ifdef PENSTOCK_HAVE_MPI_FILE_READ_C
PENSTOCK_MESSAGES(_c, MPI_Count)
#endif

int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  PENSTOCK_REAL(PMPI_Probe);
  if (stays_out()) return real(source, tag, comm, status);
  return wait_with([&](int* flag) { return MPI_Iprobe(source, tag, comm, flag, status); });
}

int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  PENSTOCK_REAL(PMPI_Mprobe);
  if (stays_out()) return real(source, tag, comm, message, status);
  return wait_with(
      [&](int* flag) { return MPI_Improbe(source, tag, comm, flag, message, status); });
}

}  // extern "C"
#pragma GCC visibility pop

PENSTOCK_MPI_NAME(MPI_Send);
PENSTOCK_MPI_NAME(MPI_Ssend);
PENSTOCK_MPI_NAME(MPI_Rsend);
PENSTOCK_MPI_NAME(MPI_Recv);
PENSTOCK_MPI_NAME(MPI_Mrecv);
PENSTOCK_MPI_NAME(MPI_Sendrecv);
PENSTOCK_MPI_NAME(MPI_Sendrecv_replace);
PENSTOCK_MPI_NAME(MPI_Probe);
PENSTOCK_MPI_NAME(MPI_Mprobe);
#ifdef PENSTOCK_HAVE_MPI_FILE_READ_C
PENSTOCK_MPI_NAME(MPI_Send_c);
PENSTOCK_MPI_NAME(MPI_Ssend_c);
PENSTOCK_MPI_NAME(MPI_Rsend_c);
PENSTOCK_MPI_NAME(MPI_Recv_c);
PENSTOCK_MPI_NAME(MPI_Mrecv_c);
PENSTOCK_MPI_NAME(MPI_Sendrecv_c);
PENSTOCK_MPI_NAME(MPI_Sendrecv_replace_c);
#endif
