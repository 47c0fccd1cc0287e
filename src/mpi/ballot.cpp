#include "mpi/ballot.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include <penstock/error.hpp>

#include "mpi/agree.hpp"
#include "mpi/over_nodes.hpp"

namespace penstock {

void Ballot::join(const Ballot& higher) {
  demand.join(higher.demand);
  if (higher.error_class > error_class ||
      (higher.error_class == error_class && higher.error_rank < error_rank)) {
    error_class = higher.error_class;
    error_rank = higher.error_rank;
  }
  if (Call::from_code(call).kind == CallKind::unknown) {
    call = higher.call;
    other_call_at = higher.other_call_at;
    other_call = higher.other_call;
  } else if (other_call_at < 0 && higher.call != call &&
             Call::from_code(higher.call).kind != CallKind::unknown) {
    other_call_at = higher.first_rank;
    other_call = higher.call;
  } else if (other_call_at < 0) {
    other_call_at = higher.other_call_at;
    other_call = higher.other_call;
  }
  gone = std::max(gone, higher.gone);
  endpoints.idle &= higher.endpoints.idle;
  endpoints.vacant &= higher.endpoints.vacant;
  if (other_common_at < 0)
    other_common_at = higher.common != common ? higher.first_rank : higher.other_common_at;
}

namespace {

static_assert(sizeof(Ballot) + most_aboard <= Team::note_bytes &&
              std::is_trivially_copyable_v<Ballot>);

Ballot ballot_in(const std::byte* bytes) {
  Ballot ballot;
  std::memcpy(&ballot, bytes, sizeof ballot);
  return ballot;
}

/// A ballot and the bytes that travel with it, one after the other.
std::vector<std::byte> packed(const Ballot& ballot, std::span<const std::byte> aboard) {
  std::vector<std::byte> bytes(sizeof ballot + aboard.size());
  std::memcpy(bytes.data(), &ballot, sizeof ballot);
  std::copy(aboard.begin(), aboard.end(), bytes.begin() + sizeof ballot);
  return bytes;
}

/// The bytes attached by the lowest rank are kept.
void join_packed(std::span<std::byte> lower, std::span<const std::byte> higher) {
  Ballot joined = ballot_in(lower.data());
  joined.join(ballot_in(higher.data()));
  std::memcpy(lower.data(), &joined, sizeof joined);
}

/// Ranks of a node write their ballots into their mailboxes; one rank of each node exchanges
/// messages. Nodes are ordered by their lowest ranks, so that rank 0 is always the lowest.
Task<Ballot> reduce_in_teams(const Channel& channel, Ballot mine, std::span<std::byte> aboard) {
  Team& team = *channel.comm.team();
  const int slot = channel.slot();
  const std::vector<std::byte> note = packed(mine, aboard);
  std::copy(note.begin(), note.end(), team.own_note(slot));
  const auto join = [&]() -> Task<> {
    const std::span<std::byte> all(team.result(slot), note.size());
    std::copy_n(team.mailbox(0).note[slot], note.size(), all.begin());
    for (int local_rank = 1; local_rank < team.size(); ++local_rank)
      join_packed(all, {team.mailbox(local_rank).note[slot], note.size()});
    co_await join_over_nodes(channel, all, join_packed);
  };
  if (co_await team.meet(slot, join)) {
    std::copy_n(team.result(slot) + sizeof mine, aboard.size(), aboard.begin());
    co_return ballot_in(team.result(slot));
  }
  mine.gone = team.gone();
  if (!team.leads()) co_return mine;
  // Copied: other nodes have no access to the mailbox.
  std::vector<std::byte> all = packed(mine, aboard);
  co_await join_over_nodes(channel, all, join_packed);
  co_return ballot_in(all.data());
}

}  // namespace

Task<Ballot> reduce(const Channel& channel, Ballot mine, std::span<std::byte> aboard) {
  const Communicator& comm = channel.comm;
  if (comm.alone()) co_return mine;
  comm.check_usable();
  Ballot all;
  if (comm.team() != nullptr) {
    all = co_await reduce_in_teams(channel, mine, aboard);
  } else {
    std::vector<std::byte> bytes = packed(mine, aboard);
    co_await join_over_nodes(channel, bytes, join_packed);
    std::copy_n(bytes.begin() + sizeof mine, aboard.size(), aboard.begin());
    all = ballot_in(bytes.data());
  }
  if (all.gone >= 0) comm.throw_gone(static_cast<int>(all.gone), channel.path);
  co_return all;
}

void leave_for_good(const Channel& channel, std::int64_t before) noexcept {
  const Communicator& comm = channel.comm;
  const bool can_speak = comm.handle() == MPI_COMM_NULL || Communicator::mpi_is_running();
  if (comm.alone() || comm.is_broken_off() || !can_speak) return;
  comm.break_off();
  Team* const team = comm.team();
  if (team != nullptr) team->leave(comm.rank());
  const bool speaks = team == nullptr || (team->nodes() > 1 && team->leads());
  if (!speaks) return;
  Ballot ballot;
  ballot.first_rank = ballot.gone = comm.rank();
  // This function must not throw. If it cannot notify the other ranks, they wait, and report after
  // PENSTOCK_PATIENCE who is missing.
  static_cast<void>(attempt([&] {
    for (std::int64_t call = channel.number - before; call <= channel.number; ++call)
      notify_nodes({comm, channel.path, channel.call, call}, packed(ballot, {}));
  }));
}

}  // namespace penstock
