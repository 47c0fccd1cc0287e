// A number in rank 0's memory that ranks of all nodes read and change without involving its
// program.
#pragma once

#include <cstdint>
#include <memory>

#include "mpi/communicator.hpp"

namespace penstock {

class RemoteNumber {
 public:
  virtual ~RemoteNumber() = default;
  /// Collective, before the destructor: nobody uses it any more.
  virtual void release() = 0;

  // Not collective. Return the previous value:
  virtual std::int64_t add(std::int64_t value) = 0;
  virtual std::int64_t set(std::int64_t value) = 0;
};

/// Collective; initially 0. In an MPI window; if the library has none between these nodes (Open MPI
/// 4 over TCP with MPI_THREAD_MULTIPLE), a thread of rank 0 answers messages. If neither works,
/// using it throws MPI_ERR_UNSUPPORTED_OPERATION.
std::unique_ptr<RemoteNumber> make_remote_number(const Communicator& comm);

}  // namespace penstock
