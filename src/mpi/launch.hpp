// Whether this process is one of several.
#pragma once

#include <string>

#include "mpi/communicator.hpp"

namespace penstock {

/// Throws where `comm` has one rank and is probably not all that the program runs on: several ranks
/// that each write all of a file alone lose most of it without a word.
void refuse_lone_writer(const Communicator& comm, const std::string& path);

}  // namespace penstock
