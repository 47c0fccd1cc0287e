// Where and how eagerly the I/O thread runs.
#pragma once

#include "background/active_buffer.hpp"

namespace penstock {

/// Applies to the calling thread what differs from the last time. What the system refuses (a core
/// that is not there, a lower nice value without the right to it) is said once on stderr.
void place_thread(const Placement& wanted) noexcept;

}  // namespace penstock
