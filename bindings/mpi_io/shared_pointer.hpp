// The shared file pointer (MPI 4.1, section 14.4.4): one number for all ranks of a file, in etypes.
// Ranks of one node have it in the memory that they share; where there are more nodes, rank 0 has
// it, in a window of MPI or (remote_number.hpp) at the other end of messages. Nothing of it is in
// the file system.
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
  /// Collective, where there are more nodes: release() before.
  ~SharedPointer() = default;
  void release();

  /// Not collective: what it was before.
  std::int64_t add(std::int64_t etypes);
  void set(std::int64_t position);
  std::int64_t get() { return add(0); }

 private:
  std::atomic<std::int64_t> own_{0};
  std::atomic<std::int64_t>* here_ = nullptr;  // null: it is remote
  std::unique_ptr<RemoteNumber> remote_;
};

}  // namespace penstock
