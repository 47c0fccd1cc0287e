// SharedSegment: memory that the ranks of one node have in common.
//
// A memfd, which has no name: it needs no /dev/shm, and however a run ends, nothing stays behind.
// The others reach it through /proc/PID/fd of the rank that made it (lent_file.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "mpi/lent_file.hpp"

namespace penstock {

class SharedSegment {
 public:
  /// What the rank that made the segment tells the others.
  struct Invitation {
    LentFile file;
    int error = 0;
  };

  SharedSegment() = default;
  SharedSegment(SharedSegment&& other) noexcept;
  SharedSegment& operator=(SharedSegment&& other) noexcept;
  ~SharedSegment();

  /// How the ranks of a node come to have one, of which the first makes it:
  ///   1. the first: create(), and tells the others its invitation
  ///   2. the others: join(), unless it has an error
  ///   3. all: complete(), with the gravest error of all. Where there is one, no rank has any
  ///      memory, and `why` says why.
  /// `bytes` are zeroed and at a page boundary; all of them are there, so that touching one never
  /// ends the program.
  Invitation create(std::int64_t bytes);
  int join(const Invitation& invitation, std::int64_t bytes);
  static SharedSegment complete(SharedSegment segment, int error, std::string& why);

  explicit operator bool() const noexcept { return data_ != nullptr; }
  std::byte* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return size_; }

 private:
  int map(std::int64_t bytes);
  /// Closes the descriptor: all ranks have mapped the segment, none opens it any more.
  void seal() noexcept;

  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
  int descriptor_ = -1;
};

}  // namespace penstock
