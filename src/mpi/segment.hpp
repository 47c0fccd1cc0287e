// SharedSegment: memory that the ranks of one node have in common.
//
// POSIX shared memory, unlinked before anybody else has opened it: however a run ends, nothing
// stays behind in /dev/shm. The others reach it through /proc/PID/fd of the rank that made it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace penstock {

class SharedSegment {
 public:
  SharedSegment() = default;
  SharedSegment(SharedSegment&& other) noexcept;
  SharedSegment& operator=(SharedSegment&& other) noexcept;
  ~SharedSegment();

  /// Collective over `node`. `bytes` zeroed bytes at a page boundary; all of them are there, so
  /// that touching one never ends the program. On failure no rank has any, and `why` says why.
  static SharedSegment make(MPI_Comm node, std::int64_t bytes, std::string& why);

  explicit operator bool() const noexcept { return data_ != nullptr; }
  std::byte* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace penstock
