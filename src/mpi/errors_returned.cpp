#include "mpi/errors_returned.hpp"

#include <string_view>

namespace penstock {
namespace {

/// For a MPI_COMM_SELF whose handler was never set, MPICH calls the handler of MPI_COMM_WORLD, but
/// returns MPI_ERRORS_ARE_FATAL as its handler. Setting that explicitly would take effect: the
/// program's own errors would end it from then on.
bool has_unset_handlers() {
  static const bool has = [] {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    return std::string_view(text).find("Open MPI") == std::string_view::npos;
  }();
  return has;
}

std::mutex& turns() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

ErrorsReturned::ErrorsReturned() : turn_(turns()) {
  for (int i = 0; i < 2; ++i) {
    MPI_Comm_get_errhandler(comms_[i], &before_[i]);
    const bool may_be_unset = i == 1 && before_[i] == MPI_ERRORS_ARE_FATAL && has_unset_handlers();
    replaced_[i] = !may_be_unset;
    if (replaced_[i]) MPI_Comm_set_errhandler(comms_[i], MPI_ERRORS_RETURN);
  }
}

ErrorsReturned::~ErrorsReturned() {
  for (int i = 0; i < 2; ++i) {
    if (replaced_[i]) MPI_Comm_set_errhandler(comms_[i], before_[i]);
    MPI_Errhandler_free(&before_[i]);
  }
}

}  // namespace penstock
