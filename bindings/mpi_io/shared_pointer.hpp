// The shared file pointer (MPI 4.1, section 14.4.4): one number for all ranks of a file, in etypes.
// Ranks of one node keep it in shared memory; with several nodes, rank 0 keeps it in an MPI window,
// or answers messages (remote_number.hpp). The file system is not used.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "mpi/communicator.hpp"
#include "mpi_io/remote_number.hpp"

namespace penstock {

class SharedPointer {
 public:
  /// Collective.
  explicit SharedPointer(const Communicator& comm);
  SharedPointer(const SharedPointer&) = delete;
  /// Collective with several nodes: release() must be called before.
  ~SharedPointer() = default;
  void release();

  /// Not collective. Returns the previous value.
  std::int64_t add(std::int64_t etypes);
  void set(std::int64_t position);
  std::int64_t get() { return add(0); }

 private:
  std::atomic<std::int64_t> own_{0};
  std::atomic<std::int64_t>* here_ = nullptr;  // null: remote
  std::unique_ptr<RemoteNumber> remote_;
};

}  // namespace penstock
