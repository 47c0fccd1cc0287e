// Fault injection for tests: device="fault:SPEC" in the hints (stacked by file/device.hpp).
//   SPEC   = clause { "," clause }; if two clauses match a call, the first one is used
//   clause = OP "@" N "=" WHAT | "rank=" R (at most one: faults on this rank only)
//   OP     = read | write | size | resize | sync | lock
//   N      = index of the call of that kind, from 0; "3+" for it and all later; "*" for all
//   WHAT   = EIO | ENOSPC | EDQUOT | EINTR | EAGAIN | ENOLCK | kill | short (read and write only:
//          half of the bytes, at least 1)
#pragma once

#include <memory>
#include <string_view>

#include "storage/storage.hpp"

namespace penstock {

/// Throws Error(argument) if SPEC is malformed.
void check_faults(std::string_view spec);

/// `inner` with the faults of `spec`; `inner` itself if they are for another rank. Throws
/// Error(argument) if SPEC is malformed.
std::unique_ptr<Storage> inject_faults(std::unique_ptr<Storage> inner, std::string_view spec,
                                       int rank);

}  // namespace penstock
