// Requests of non-blocking calls (MPI 4.1, section 14.4.5): generalized requests of the MPI
// library, so that they can be passed with any others to MPI_Wait and MPI_Test. The drop-in's own
// MPI_Wait... and MPI_Test... (names/wait.cpp) progress operations in flight, and then call the
// library's.
#pragma once

#include <mpi.h>

#include <chrono>

#include "mpi_io/mpi_file.hpp"

namespace penstock {

struct PendingRequest;

/// `handle`: of the file, for its error handler.
MPI_Request make_request(MPI_File handle, std::shared_ptr<MpiFile> file, PendingAccess transfer);

/// Whether there is any that the program has not completed.
bool has_requests() noexcept;
/// Resumes all operations in flight; completes those that have ended. Does not wait. Returns
/// whether any progressed. Called wherever the process waits for a file or for requests, in the
/// program's blocking messages, and in a thread (progress_thread.hpp) if there may be one.
bool progress_requests();
/// For a call that waits for requests, or tests them: the errors of those that are or were in
/// flight; calls their files' error handlers. To be constructed before handles are completed:
/// MPI_SUCCESS for unknown requests. The time of its life is counted for their files.
class RequestErrors {
 public:
  RequestErrors(int count, const MPI_Request* requests);
  RequestErrors(const RequestErrors&) = delete;
  ~RequestErrors();
  /// The error of request `index`, once the library has completed it.
  int report(int index) const;
  bool empty() const noexcept { return watched_.empty(); }
  /// The first that has not ended and depends on other ranks; null: none.
  std::shared_ptr<PendingRequest> awaited() const;

 private:
  struct Watched {
    int index;
    std::shared_ptr<PendingRequest> pending;
  };
  std::vector<Watched> watched_;
  std::chrono::steady_clock::time_point begin_;
};

/// While one exists, this thread waits for some of these requests: messages about long waits name
/// their file and the missing ranks.
class WaitForRequests {
 public:
  explicit WaitForRequests(const RequestErrors& requests) : requests_(requests) { look(); }
  /// Some may have ended.
  void look();

 private:
  const RequestErrors& requests_;
  std::shared_ptr<PendingRequest> shown_;
  std::optional<InCall> in_;
};

/// Before a file is closed: ends its requests in flight.
void finish_requests(MpiFile& file);

}  // namespace penstock
