// What all files of a process share, made with its first file.
#pragma once

#include <string>

#include "background/background_io.hpp"
#include "trace/recorder.hpp"

namespace penstock {

class ByteFile;

/// Lives until the process ends: exit() and MPI_Finalize see to its data (finish_process), and
/// forked children have an empty one. Whoever opens a file hands it down; nothing below asks for
/// it.
BackgroundIo& background_of_process();

/// By each file that is open in this process.
void note_open(ByteFile& file);
void note_closed(ByteFile& file) noexcept;
/// At the end of the process, or of MPI in it: what files have begun in threads is ended as far as
/// that needs no call, and what is queued is written. Tells on stderr what the program has not
/// asked for.
void finish_process() noexcept;

/// What is told all that happens with a file; null where the process keeps no trace.
Listener* listener_of(const std::string& path);

}  // namespace penstock
