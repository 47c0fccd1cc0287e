#include "gil.hpp"

#include <unistd.h>

namespace penstock::python {
namespace {

/// Calls `take`, or sleeps for ever: the thread's unwinding must neither continue nor end here.
template <class Take>
auto take_or_sleep(Take take) noexcept {
  try {
    return take();
  } catch (...) {
    for (;;) ::pause();
  }
}

}  // namespace

WithoutGil::WithoutGil() noexcept : state_(PyEval_SaveThread()) {}

WithoutGil::~WithoutGil() {
  take_or_sleep([this] { PyEval_RestoreThread(state_); });
}

WithGil::WithGil() noexcept : state_(take_or_sleep([] { return PyGILState_Ensure(); })) {}

WithGil::~WithGil() {
  PyGILState_Release(state_);
}

}  // namespace penstock::python
