// SharedSegment: memory that the ranks of one node have in common.
//
// POSIX shared memory, unlinked before anybody else has opened it: however a run ends, nothing
// stays behind in /dev/shm. The others reach it through /proc/PID/fd of the rank that made it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace penstock {

class SharedSegment {
 public:
  /// What the rank that made the segment tells the others.
  struct Invitation {
    std::int64_t process = 0;
    int descriptor = -1;
    int error = 0;
  };

  SharedSegment() = default;
  SharedSegment(SharedSegment&& other) noexcept;
  SharedSegment& operator=(SharedSegment&& other) noexcept;
  ~SharedSegment();

  /// Collective over the ranks of a node, of which one is `first`. `bytes` zeroed bytes at a page
  /// boundary; all of them are there, so that touching one never ends the program. On failure no
  /// rank has any, and `why` says why. `tell(invitation)` gives all ranks the first one's,
  /// `gravest(error)` the largest number of any.
  template <class Tell, class Gravest>
  static SharedSegment make(bool first, std::int64_t bytes, Tell&& tell, Gravest&& gravest,
                            std::string& why) {
    SharedSegment segment;
    Invitation invitation;
    if (first) invitation = segment.create(bytes);
    tell(invitation);
    int error = invitation.error;
    if (!first && error == 0) error = segment.join(invitation, bytes);
    error = gravest(error);
    segment.seal();
    if (error == 0) return segment;
    why = std::strerror(error);
    return {};
  }

  explicit operator bool() const noexcept { return data_ != nullptr; }
  std::byte* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return size_; }

 private:
  Invitation create(std::int64_t bytes);
  int join(const Invitation& invitation, std::int64_t bytes);
  int map(std::int64_t bytes);
  /// Nobody else needs to come in.
  void seal() noexcept;

  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
  int descriptor_ = -1;
};

}  // namespace penstock
