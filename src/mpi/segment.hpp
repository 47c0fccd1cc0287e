// SharedSegment: shared memory of the ranks of one node.
//
// A memfd, which has no name: it needs no /dev/shm, and leaves nothing behind however a run ends.
// Other ranks open it through /proc/PID/fd of the rank that made it (lent_file.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "mpi/lent_file.hpp"

namespace penstock {

class SharedSegment {
 public:
  /// What the rank that made the segment sends to the others.
  struct Invitation {
    LentFile file;
    int error = 0;
  };

  SharedSegment() = default;
  SharedSegment(SharedSegment&& other) noexcept;
  SharedSegment& operator=(SharedSegment&& other) noexcept;
  ~SharedSegment();

  /// How the ranks of a node set one up, which the first of them makes:
  ///   1. the first: create(), and sends its invitation to the others
  ///   2. the others: join(), unless it has an error
  ///   3. all: complete(), with the gravest error of all. If there is one, no rank has any memory,
  ///      and `why` has the reason.
  /// `bytes` are zeroed and at a page boundary; all are allocated, so touching them cannot raise
  /// SIGBUS.
  Invitation create(std::int64_t bytes);
  int join(const Invitation& invitation, std::int64_t bytes);
  static SharedSegment complete(SharedSegment segment, int error, std::string& why);

  explicit operator bool() const noexcept { return data_ != nullptr; }
  std::byte* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return size_; }

 private:
  int map(std::int64_t bytes);
  /// Closes the descriptor: all ranks have mapped the segment.
  void close_descriptor() noexcept;

  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
  int descriptor_ = -1;
};

}  // namespace penstock
