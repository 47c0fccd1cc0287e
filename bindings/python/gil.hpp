// The interpreter's lock (GIL). If the interpreter ends while a daemon thread is in the library,
// that thread can never take the lock again: CPython before 3.14 ends the thread there, by
// unwinding its stack, which must not pass a destructor, or the process would abort. Here such a
// thread sleeps until the process is gone, as in CPython 3.14.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::python {

/// Releases the lock for its lifetime.
class WithoutGil {
 public:
  WithoutGil() noexcept;
  WithoutGil(const WithoutGil&) = delete;
  ~WithoutGil();

 private:
  PyThreadState* state_;
};

/// Holds the lock for its lifetime.
class WithGil {
 public:
  WithGil() noexcept;
  WithGil(const WithGil&) = delete;
  ~WithGil();

 private:
  PyGILState_STATE state_;
};

}  // namespace penstock::python
