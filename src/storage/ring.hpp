// io_uring: the ring of one file, and all calls on it. Compiled if liburing was found.
#pragma once

#include <liburing.h>

#include <memory>
#include <string>

#include "storage/blocks.hpp"

namespace penstock {

/// One thread at a time may push and submit entries, and one at a time take completions; these may
/// be two different threads.
class Ring {
 public:
  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    if (open_) ::io_uring_queue_exit(&ring_);
  }

  /// 0, or an errno.
  int open(unsigned depth);
  /// There is room for as many as the ring is deep. `memory` must stay valid until it is submitted.
  void push(Direction direction, int fd, Parts memory, std::int64_t offset, void* owner);
  /// Submits what was pushed. Returns a count, or -errno.
  int submit() { return ::io_uring_submit(&ring_); }
  /// How many of those pushed the kernel has not taken.
  int not_taken() const { return static_cast<int>(::io_uring_sq_ready(&ring_)); }
  /// Until there is a completion, or a signal.
  void wait();

  struct Answer {
    void* owner;  // null: there is none yet
    std::int64_t code;
  };
  Answer next_answer();

 private:
  io_uring ring_{};
  bool open_ = false;
};

/// Storage with many concurrent accesses. Null if the kernel provides no ring; `error` is then an
/// errno.
std::unique_ptr<Storage> make_ring_storage(const BlockFile& file, const std::string& path,
                                           int depth, int& error);

}  // namespace penstock
