// Whether a thread is in Penstock: the MPI functions that it calls there are the library's alone.
#pragma once

namespace penstock {

/// While one exists, this thread's calls of MPI go straight to the library.
class Inside {
 public:
  Inside() noexcept { ++depth; }
  Inside(const Inside&) = delete;
  ~Inside() { --depth; }
  static bool any() noexcept { return depth > 0; }

 private:
  static inline thread_local int depth = 0;
};

}  // namespace penstock
