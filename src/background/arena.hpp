// Arena: the memory of a process's active buffer. A memfd, so that the ranks of a node can copy
// directly into each other's (they open it through /proc/PID/fd); private memory if the process may
// not have one (ulimit -f). It is allocated as far as it is used, in huge pages if the kernel has
// them, and kept until trim(): copying into memory that was touched before is many times faster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace penstock {

/// A mapping of an arena: of this process or another.
struct ArenaView {
  std::byte* base = nullptr;
  std::int64_t size = 0;  // of the mapping; most of it is not backed by memory
};

class Arena {
 public:
  static constexpr std::int64_t none = -1;

  Arena() = default;
  Arena(const Arena&) = delete;
  ~Arena();

  /// False if the system has no memory of this kind; errno has the reason.
  bool open();
  /// -1: other processes cannot open it.
  int descriptor() const noexcept { return descriptor_; }
  const ArenaView& view() const noexcept { return view_; }

  /// The lowest free offset for `bytes` bytes (at a page boundary, if they are a page or more):
  /// memory used last is still in the CPU cache. `none` if they do not fit below `end`, or the
  /// system has no memory.
  std::int64_t take(std::int64_t bytes, std::int64_t end);
  void give(std::int64_t offset, std::int64_t bytes);
  /// Returns unused memory beyond `end` to the system.
  void trim(std::int64_t end);
  std::int64_t committed() const noexcept { return committed_; }

  /// Maps an arena of another process of this node. `base` is null on failure; errno has the
  /// reason.
  static ArenaView map(int descriptor);

 private:
  bool open_shared();
  bool open_private();
  bool commit(std::int64_t end);

  int descriptor_ = -1;
  ArenaView view_;
  std::int64_t committed_ = 0;                 // memory is allocated up to this offset
  std::int64_t top_ = 0;                       // everything from here on is free
  std::map<std::int64_t, std::int64_t> free_;  // below top_: offset, bytes
};

}  // namespace penstock
