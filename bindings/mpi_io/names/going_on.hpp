// What the drop-in's forms of functions that wait have in common: while requests of files are under
// way they go on with these, and ask the library in between. Otherwise they are the library's.
#pragma once

#include "mpi/library.hpp"
#include "mpi/wait.hpp"
#include "mpi_io/names/guard.hpp"
#include "mpi_io/requests.hpp"

/// The library's function, as `real`, as `test`, or as another variable.
#define PENSTOCK_REAL(name) PENSTOCK_LIBRARY(real, name)
#define PENSTOCK_REAL_TEST(name) PENSTOCK_LIBRARY(test, name)
#define PENSTOCK_LIBRARY(variable, name) \
  static const auto variable = reinterpret_cast<decltype(&(name))>(library::find(#name))

namespace penstock::dropin {

/// A call is the library's alone.
inline bool stays_out() {
  return Inside::any() || !has_requests();
}

/// `test` until it says that something is done, or goes wrong. `shown`: which requests that is for.
template <class Test>
int wait_with(Test&& test, WaitForRequests* shown = nullptr) {
  progress_requests();
  for (Wait wait;;) {
    int flag = 0;
    const int code = test(&flag);
    if (flag || code != MPI_SUCCESS) return code;
    if (shown != nullptr) shown->look();
    wait.poll();
  }
}

}  // namespace penstock::dropin
