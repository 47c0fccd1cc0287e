// Whether a thread is in Penstock: MPI functions that it calls there go to the MPI library.
#pragma once

namespace penstock {

/// While one exists, this thread's MPI calls go directly to the library.
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
