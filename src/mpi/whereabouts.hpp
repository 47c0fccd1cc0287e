// Reports which ranks a waiting rank waits for.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "background/buffered_file.hpp"
#include "base/patience.hpp"

namespace penstock {

/// Writes into this rank's mailbox, for the others of its node, whether it waits for other ranks.
void show_waiting(bool waits) noexcept;

/// The reason of a wait.
enum class WaitsFor { work, slow_storage, ranks };

/// Reports on stderr, on one rank of the node, who is in this thread's collective call and who is
/// missing; or, if none is missing and unless `storage_reported`, which rank has been in one
/// storage access for so long. Reports nothing if some rank of the node is working, and the others
/// wait for that.
WaitsFor report_whereabouts(std::chrono::nanoseconds waited, bool storage_reported);

/// The other processes of this node that have writes pending in this part of a file; empty: none.
std::string who_has_pending(BufferedFile& file, Extent range);

class Team;
/// After the waiting time, reports on stderr which ranks of the node hold the permits that this one
/// waits for. False: too early.
bool report_permit_holders(Team& team, int most, std::chrono::nanoseconds waited) noexcept;

/// A process of this node, which its parent may not have reaped yet.
bool has_ended(std::int64_t process) noexcept;

/// Throws Error(state), or ends the program. The file can only be abandoned after it.
[[noreturn]] void give_up(std::chrono::nanoseconds waited, bool may_throw);

}  // namespace penstock
