// MPI_Wait... and MPI_Test...: while file requests are in flight, they progress these, and call the
// library's MPI_Test... in between. Otherwise they just call the library.
#include <algorithm>
#include <utility>
#include <vector>

#include "mpi_io/names/export.hpp"
#include "mpi_io/names/progress.hpp"

using namespace penstock;
using namespace penstock::dropin;

namespace {

int first_of(int code, int other) {
  return code != MPI_SUCCESS ? code : other;
}

/// For requests that complete together: if any failed, each status has its error, including
/// MPI_SUCCESS (MPI 4.1, section 3.7.5). `code`: of the library; MPI_ERR_IN_STATUS: it has set
/// errors of its own.
int report_each(int code, const RequestErrors& errors,
                const std::vector<std::pair<int, MPI_Status*>>& done) {
  std::vector<int> codes;
  for (const auto& [index, status] : done) codes.push_back(errors.report(index));
  if (std::ranges::count(codes, MPI_SUCCESS) == std::ssize(codes)) return code;
  for (std::size_t i = 0; i < done.size(); ++i) {
    MPI_Status* const status = done[i].second;
    const bool has_own = code != MPI_SUCCESS && codes[i] == MPI_SUCCESS;
    if (status != nullptr && !has_own) status->MPI_ERROR = codes[i];
  }
  return code != MPI_SUCCESS ? code : MPI_ERR_IN_STATUS;
}

MPI_Status* status_at(MPI_Status* statuses, int index) {
  return statuses == MPI_STATUSES_IGNORE ? nullptr : statuses + index;
}

int report_all(int code, const RequestErrors& errors, int count, MPI_Status* statuses) {
  std::vector<std::pair<int, MPI_Status*>> done;
  for (int i = 0; i < count; ++i) done.emplace_back(i, status_at(statuses, i));
  return report_each(code, errors, done);
}

int report_some(int code, const RequestErrors& errors, int count, const int* indices,
                MPI_Status* statuses) {
  std::vector<std::pair<int, MPI_Status*>> done;
  for (int i = 0; i < count; ++i) done.emplace_back(indices[i], status_at(statuses, i));
  return report_each(code, errors, done);
}

/// Until all have ended, successfully or not: the library then waits for nothing that needs this
/// rank. Not by MPI_Testall: with partitioned communication in flight, that of MPICH 5.0 returns
/// MPI_ERR_IN_STATUS.
void wait_for_each(int count, const MPI_Request* requests, const RequestErrors& errors) {
  PENSTOCK_REAL_TEST(PMPI_Request_get_status);
  int ended = 0;
  WaitForRequests shown(errors);
  const auto test_each = [&](int* flag) {
    for (*flag = 1; ended < count; ++ended)
      if (test(requests[ended], flag, MPI_STATUS_IGNORE) != MPI_SUCCESS) *flag = 1;
      else if (!*flag) break;
    return MPI_SUCCESS;
  };
  wait_with(test_each, &shown);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int PMPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  PENSTOCK_REAL(PMPI_Test);
  if (stays_out()) return real(request, flag, status);
  const RequestErrors errors(1, request);
  progress_requests();
  const int code = real(request, flag, status);
  return *flag ? first_of(code, errors.report(0)) : code;
}

int PMPI_Wait(MPI_Request* request, MPI_Status* status) {
  PENSTOCK_REAL(PMPI_Wait);
  if (stays_out()) return real(request, status);
  PENSTOCK_REAL_TEST(PMPI_Test);
  const RequestErrors errors(1, request);
  WaitForRequests shown(errors);
  const int code = wait_with([&](int* flag) { return test(request, flag, status); }, &shown);
  return first_of(code, errors.report(0));
}

int PMPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  PENSTOCK_REAL(PMPI_Testall);
  if (stays_out()) return real(count, requests, flag, statuses);
  const RequestErrors errors(count, requests);
  progress_requests();
  const int code = real(count, requests, flag, statuses);
  return *flag ? report_all(code, errors, count, statuses) : code;
}

int PMPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  PENSTOCK_REAL(PMPI_Waitall);
  if (stays_out()) return real(count, requests, statuses);
  const RequestErrors errors(count, requests);
  wait_for_each(count, requests, errors);
  const int code = real(count, requests, statuses);
  return report_all(code, errors, count, statuses);
}

int PMPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  PENSTOCK_REAL(PMPI_Testany);
  if (stays_out()) return real(count, requests, index, flag, status);
  const RequestErrors errors(count, requests);
  progress_requests();
  const int code = real(count, requests, index, flag, status);
  return *flag && *index != MPI_UNDEFINED ? first_of(code, errors.report(*index)) : code;
}

int PMPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  PENSTOCK_REAL(PMPI_Waitany);
  if (stays_out()) return real(count, requests, index, status);
  PENSTOCK_REAL_TEST(PMPI_Testany);
  const RequestErrors errors(count, requests);
  WaitForRequests shown(errors);
  const int code =
      wait_with([&](int* flag) { return test(count, requests, index, flag, status); }, &shown);
  return *index != MPI_UNDEFINED ? first_of(code, errors.report(*index)) : code;
}

int PMPI_Testsome(int count, MPI_Request requests[], int* done, int indices[],
                  MPI_Status statuses[]) {
  PENSTOCK_REAL(PMPI_Testsome);
  if (stays_out()) return real(count, requests, done, indices, statuses);
  const RequestErrors errors(count, requests);
  progress_requests();
  const int code = real(count, requests, done, indices, statuses);
  return *done > 0 ? report_some(code, errors, *done, indices, statuses) : code;
}

int PMPI_Waitsome(int count, MPI_Request requests[], int* done, int indices[],
                  MPI_Status statuses[]) {
  PENSTOCK_REAL(PMPI_Waitsome);
  if (stays_out()) return real(count, requests, done, indices, statuses);
  PENSTOCK_REAL_TEST(PMPI_Testsome);
  const RequestErrors errors(count, requests);
  WaitForRequests shown(errors);
  const auto test_some = [&](int* flag) {
    const int tested = test(count, requests, done, indices, statuses);
    *flag = *done != 0;  // MPI_UNDEFINED: no active request
    return tested;
  };
  const int code = wait_with(test_some, &shown);
  return *done > 0 ? report_some(code, errors, *done, indices, statuses) : code;
}

int PMPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  PENSTOCK_REAL(PMPI_Request_get_status);
  if (!stays_out()) progress_requests();
  return real(request, flag, status);
}

#ifdef PENSTOCK_HAVE_MPI_REQUEST_GET_STATUS_ANY
int PMPI_Request_get_status_all(int count, const MPI_Request requests[], int* flag,
                                MPI_Status statuses[]) {
  PENSTOCK_REAL(PMPI_Request_get_status_all);
  if (!stays_out()) progress_requests();
  return real(count, requests, flag, statuses);
}

int PMPI_Request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag,
                                MPI_Status* status) {
  PENSTOCK_REAL(PMPI_Request_get_status_any);
  if (!stays_out()) progress_requests();
  return real(count, requests, index, flag, status);
}

int PMPI_Request_get_status_some(int count, const MPI_Request requests[], int* done, int indices[],
                                 MPI_Status statuses[]) {
  PENSTOCK_REAL(PMPI_Request_get_status_some);
  if (!stays_out()) progress_requests();
  return real(count, requests, done, indices, statuses);
}
#endif

}  // extern "C"
#pragma GCC visibility pop

PENSTOCK_MPI_NAME(MPI_Test);
PENSTOCK_MPI_NAME(MPI_Wait);
PENSTOCK_MPI_NAME(MPI_Testall);
PENSTOCK_MPI_NAME(MPI_Waitall);
PENSTOCK_MPI_NAME(MPI_Testany);
PENSTOCK_MPI_NAME(MPI_Waitany);
PENSTOCK_MPI_NAME(MPI_Testsome);
PENSTOCK_MPI_NAME(MPI_Waitsome);
PENSTOCK_MPI_NAME(MPI_Request_get_status);
#ifdef PENSTOCK_HAVE_MPI_REQUEST_GET_STATUS_ANY
PENSTOCK_MPI_NAME(MPI_Request_get_status_all);
PENSTOCK_MPI_NAME(MPI_Request_get_status_any);
PENSTOCK_MPI_NAME(MPI_Request_get_status_some);
#endif
