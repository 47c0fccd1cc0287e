// Byte-range locks of an open file description (OFD), not of the process: they hold between two
// openings in one process, and closing another descriptor of the file does not drop them.
#pragma once

#include <string>

#include "base/extent.hpp"

namespace penstock {

/// F_RDLCK, F_WRLCK, or F_UNLCK. Waits for whoever has locked some of the range, and says on stderr
/// who that is after PENSTOCK_PATIENCE; where that asks for an error: ETIMEDOUT. 0, or an errno.
int set_lock(int fd, short type, Extent range, const std::string& path);

}  // namespace penstock
