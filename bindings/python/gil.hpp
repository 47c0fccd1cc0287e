// The interpreter's lock. Where the interpreter ends while a daemon thread is in the library, that
// thread can never have the lock again: CPython before 3.14 ends the thread there, by unwinding its
// stack, which a destructor may not pass on, and the process would abort. Here such a thread sleeps
// until the process is gone, as CPython 3.14 has it.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::python {

/// While one exists, this thread is without the lock.
class WithoutGil {
 public:
  WithoutGil() noexcept;
  WithoutGil(const WithoutGil&) = delete;
  ~WithoutGil();

 private:
  PyThreadState* state_;
};

/// While one exists, this thread has the lock.
class WithGil {
 public:
  WithGil() noexcept;
  WithGil(const WithGil&) = delete;
  ~WithGil();

 private:
  PyGILState_STATE state_;
};

}  // namespace penstock::python
