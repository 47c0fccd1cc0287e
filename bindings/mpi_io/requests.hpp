// Requests of non-blocking calls (MPI 4.1, section 14.4.5): generalized requests of the MPI
// library, so that they go with any others into MPI_Wait and MPI_Test. The drop-in's own
// MPI_Wait... and MPI_Test... (dropin/wait.cpp) go on with what is under way, and then call the
// library's.
#pragma once

#include <mpi.h>

#include <chrono>

#include "mpi_io/mpi_file.hpp"

namespace penstock {

struct PendingRequest;

/// `handle`: of the file, for its error handler.
MPI_Request make_request(MPI_File handle, std::shared_ptr<MpiFile> file, PendingAccess transfer);

/// Whether there is any that the program has not used up.
bool has_requests() noexcept;
/// Goes on with all that are under way; completes those that have ended. Does not wait. Whether any
/// moved. This happens wherever the process waits for a file or for requests, in messages of the
/// program that block, and in a thread (progress_thread.hpp) where there may be one.
bool progress_requests();
/// Of a call that waits for requests, or asks about them: what went wrong with one that is, or was,
/// under way; calls its file's error handler. To be made before its handle is used up: MPI_SUCCESS
/// where nothing is known of it. The time until it ends is that of their files.
class RequestErrors {
 public:
  RequestErrors(int count, const MPI_Request* requests);
  RequestErrors(const RequestErrors&) = delete;
  ~RequestErrors();
  /// Of request `index`, once the library says that it has completed.
  int tell(int index) const;
  bool empty() const noexcept { return watched_.empty(); }
  /// The first that has not ended, and that other ranks have to go on with; null: there is none.
  std::shared_ptr<PendingRequest> awaited() const;

 private:
  struct Watched {
    int index;
    std::shared_ptr<PendingRequest> pending;
  };
  std::vector<Watched> watched_;
  std::chrono::steady_clock::time_point begin_;
};

/// While one exists, this thread waits for some of these requests: where that takes long it is said
/// for which file's, and for whom.
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

/// Before a file is closed: nothing of it is under way then.
void finish_requests(MpiFile& file);

}  // namespace penstock
