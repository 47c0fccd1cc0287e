// Which ranks a waiting rank waits for.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "background/buffered_file.hpp"
#include "base/patience.hpp"

namespace penstock {

/// Writes into this rank's mailbox, for the others of its node, whether it waits for other ranks.
void show_waiting(bool waits) noexcept;

/// What a wait is for.
enum class WaitsFor { work, slow_storage, ranks };

/// Says on stderr, on one rank of the node, who is in this thread's collective call and who is not
/// there yet; or that all are, and which rank is in one access to storage for so long. That is said
/// unless `storage_told`. Says nothing where some rank of the node works, and the others wait for
/// that.
WaitsFor tell_whereabouts(std::chrono::nanoseconds waited, bool storage_told);

/// The other processes of this node that have some of these bytes of a file pending; empty: none.
std::string who_has_pending(BufferedFile& file, Extent range);

class Team;
/// Says on stderr which ranks of the node have the permits that this one has waited for, after the
/// time for it. False: it was too early.
bool tell_permits(Team& team, int most, std::chrono::nanoseconds waited) noexcept;

/// A process of this node, which may not have been collected by its parent yet.
bool has_ended(std::int64_t process) noexcept;

/// Throws Error(state), or ends the program. The file can only be let go of after it.
[[noreturn]] void give_up(std::chrono::nanoseconds waited, bool may_throw);

}  // namespace penstock
