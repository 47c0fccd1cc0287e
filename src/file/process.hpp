// What all files of a process share, made with its first file.
#pragma once

#include <string>

#include "background/background_io.hpp"
#include "trace/recorder.hpp"

namespace penstock {

/// Lives until the process ends: exit() and MPI_Finalize see to its data, and forked children have
/// an empty one. Whoever opens a file hands it down; nothing below asks for it.
BackgroundIo& background_of_process();

/// What is told all that happens with a file; null where the process keeps no trace.
Listener* listener_of(const std::string& path);

}  // namespace penstock
