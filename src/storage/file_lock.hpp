// Byte-range locks of an open file description (OFD), not of the process: they are effective
// between two openings in one process, and closing another descriptor of the file does not drop
// them.
#pragma once

#include <string>

#include "base/extent.hpp"

namespace penstock {

/// F_RDLCK, F_WRLCK, or F_UNLCK. Waits for conflicting locks; after PENSTOCK_PATIENCE it reports on
/// stderr who holds one, or returns ETIMEDOUT if an error was asked for. Returns 0 or an errno.
int set_lock(int fd, short type, Extent range, const std::string& path);

}  // namespace penstock
