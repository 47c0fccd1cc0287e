// Common parts of the drop-in's versions of waiting functions: while file requests are in flight
// they progress these, and call the library in between. Otherwise they just call the library.
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

/// Whether a call just goes to the library.
inline bool stays_out() {
  return Inside::any() || !has_requests();
}

/// Calls `test` until something is done or fails. `shown`: the requests waited for.
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
