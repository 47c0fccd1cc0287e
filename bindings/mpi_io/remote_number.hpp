// A number that rank 0 has and that ranks of all nodes read and change, without its help.
#pragma once

#include <cstdint>
#include <memory>

#include "mpi/communicator.hpp"

namespace penstock {

class RemoteNumber {
 public:
  virtual ~RemoteNumber() = default;
  /// Collective, before the end: nobody uses it any more.
  virtual void release() = 0;

  // Not collective. What it was before:
  virtual std::int64_t add(std::int64_t value) = 0;
  virtual std::int64_t set(std::int64_t value) = 0;
};

/// Collective: 0 at first. In a window of MPI; where the library has none between these nodes
/// (Open MPI 4 over TCP with MPI_THREAD_MULTIPLE), a thread of rank 0 answers messages. Where
/// neither goes, using it throws MPI_ERR_UNSUPPORTED_OPERATION.
std::unique_ptr<RemoteNumber> make_remote_number(const Communicator& comm);

}  // namespace penstock
