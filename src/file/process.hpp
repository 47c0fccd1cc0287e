// What all files of a process share, created with the first file.
#pragma once

#include <string>

#include "background/background_io.hpp"
#include "trace/recorder.hpp"

namespace penstock {

class ByteFile;

/// Lives until the process ends: exit() and MPI_Finalize write its data (finish_process), and
/// forked children get an empty one. It is passed down when a file is opened; nothing below calls
/// this.
BackgroundIo& background_of_process();

/// Called by each file that is open in this process.
void note_open(ByteFile& file);
void note_closed(ByteFile& file) noexcept;
/// At the end of the process, or of MPI in it: ends the work of files' threads as far as that needs
/// no call, and writes what is queued. Reports unretrieved errors on stderr.
void finish_process() noexcept;

/// The listener for all events of a file; null if the process writes no trace.
Listener* listener_of(const std::string& path);

}  // namespace penstock
