// Whether this process is one of several.
#pragma once

#include <string>

#include "mpi/communicator.hpp"

namespace penstock {

/// Throws if `comm` has one rank and is probably only a part of the program: several ranks that
/// each write a whole file would silently overwrite each other.
void refuse_lone_writer(const Communicator& comm, const std::string& path);

}  // namespace penstock
