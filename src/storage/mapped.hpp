// Reading out of a mapped file: one copy from the page cache to user memory, without a call of the
// kernel for each run.
#pragma once

#include "storage/storage.hpp"

namespace penstock {

/// Maps a range of an open file and hands it to `copy`. False where it cannot be mapped, where it
/// does not lie within the file, or where some of it could not be had meanwhile (the file was
/// shortened, the device failed): then `copy` was not called, or took zeros in place of some bytes.
///
/// What cannot be had is a SIGBUS. A handler turns those into zeros that are raised by this
/// function's own copying, and passes on all others to the handler that was there before. Where the
/// program has set one of its own since, nothing is mapped any more.
bool read_mapped_file(int fd, Extent range, const Storage::MappedCopy& copy);

}  // namespace penstock
