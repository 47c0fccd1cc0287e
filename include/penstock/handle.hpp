// Handle: a read, write or close that has begun.
#pragma once

#include <memory>
#include <string_view>

#include <penstock/export.hpp>

namespace penstock {

/// What runs in the background between begin and wait (Dickens & Thakur, *Improving Collective I/O
/// Performance Using Threads*, section 2.1). The program need not call MPI meanwhile.
enum class Background {
  none,     ///< nothing: begin does everything
  storage,  ///< the storage accesses: begin exchanges and the I/O thread writes; the I/O thread
            ///< reads and wait exchanges. Nothing, if a page cache is as fast as memory
  all,      ///< the exchange as well, in a thread of the file; needs MPI_THREAD_MULTIPLE
};

PENSTOCK_EXPORT std::string_view to_string(Background background) noexcept;
PENSTOCK_EXPORT Background parse_background(std::string_view text);  ///< throws Error(argument)

/// A read, write or close that has begun, as ArrayFile returns it.
class PENSTOCK_EXPORT Handle {
 public:
  /// Not collective. The memory of a write may be changed again: its bytes are in the file or in a
  /// buffer. For a read: it is filled (only after wait). Waits for that unless `wait` is false.
  bool copied(bool wait = true);
  /// Not collective. Whether this rank's part is done: wait() would wait for other ranks only.
  /// Progresses everything that is in flight in the file, not only this operation: the call may
  /// exchange with other ranks, and read or write the file, but waits for no other rank.
  bool test();
  /// Collective; operations may be waited for in any order. Returns when the bytes of all ranks are
  /// in the file (for a read: in memory). Throws errors, the same class on every rank. A second
  /// call does nothing.
  void wait();

  class State;
  explicit Handle(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

}  // namespace penstock
