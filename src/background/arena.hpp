// Arena: the memory of a process's active buffer. A memfd, so that the ranks of a node can copy
// straight into each other's (they open it through /proc/PID/fd); memory of the process alone where
// it may not have one (ulimit -f). It comes into being as far as it is used, in huge pages where
// the kernel has them, and stays until trim(): memory that was touched before is copied into many
// times faster than new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace penstock {

/// A mapping of an arena: this process's own, or another's.
struct ArenaView {
  std::byte* base = nullptr;
  std::int64_t size = 0;  // of the mapping; most of it has no memory behind it
};

class Arena {
 public:
  static constexpr std::int64_t none = -1;

  Arena() = default;
  Arena(const Arena&) = delete;
  ~Arena();

  /// False where the system has no memory of this kind; errno says why.
  bool open();
  /// -1: no other process can reach it.
  int descriptor() const noexcept { return descriptor_; }
  const ArenaView& view() const noexcept { return view_; }

  /// The offset of `bytes` bytes (at a page boundary, if they are a page or more), the lowest there
  /// is: memory used last is still in the cache. `none` where they do not fit below `end`, or the
  /// system has no more.
  std::int64_t take(std::int64_t bytes, std::int64_t end);
  void give(std::int64_t offset, std::int64_t bytes);
  /// Memory beyond `end` that is not in use goes back to the system.
  void trim(std::int64_t end);
  std::int64_t committed() const noexcept { return committed_; }

  /// Maps an arena of another process of this node. `base` is null on failure; errno says why.
  static ArenaView map(int descriptor);

 private:
  bool open_shared();
  bool open_private();
  bool commit(std::int64_t end);

  int descriptor_ = -1;
  ArenaView view_;
  std::int64_t committed_ = 0;                 // memory is allocated up to this offset
  std::int64_t top_ = 0;                       // nothing is in use from here on
  std::map<std::int64_t, std::int64_t> free_;  // below top_: offset, bytes
};

}  // namespace penstock
