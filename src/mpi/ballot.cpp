#include "mpi/ballot.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include <penstock/error.hpp>

#include "mpi/agree.hpp"

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
  waits_for = std::min(waits_for, higher.waits_for);
  oldest_low = std::min(oldest_low, higher.oldest_low);
  oldest_high = std::max(oldest_high, higher.oldest_high);
  gone = std::max(gone, higher.gone);
  lanes.idle &= higher.lanes.idle;
  lanes.vacant &= higher.lanes.vacant;
  if (other_common_at < 0)
    other_common_at = higher.common != common ? higher.first_rank : higher.other_common_at;
}

namespace {

void join_ballots(void* lower, void* higher_and_result, int* count, MPI_Datatype*) {
  const auto* in = static_cast<const Ballot*>(lower);
  auto* inout = static_cast<Ballot*>(higher_and_result);
  for (int i = 0; i < *count; ++i) {
    Ballot joined = in[i];
    joined.join(inout[i]);
    inout[i] = joined;
  }
}

/// The type and the operation live as long as the library: both are handles of a few bytes.
struct BallotOp {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  BallotOp() {
    Communicator::check(MPI_Type_contiguous(sizeof(Ballot), MPI_BYTE, &type),
                        "MPI_Type_contiguous");
    Communicator::check(MPI_Type_commit(&type), "MPI_Type_commit");
    Communicator::check(MPI_Op_create(&join_ballots, 0, &op), "MPI_Op_create");
  }
};

/// A reduction under way. Where it is left so, its memory must stay: MPI still has it.
struct Reduction {
  Ballot mine, all;
  MPI_Request request = MPI_REQUEST_NULL;

  Reduction(MPI_Comm comm, const Ballot& ballot) : mine(ballot) {
    static const BallotOp ballot_op;
    Communicator::check(
        MPI_Iallreduce(&mine, &all, 1, ballot_op.type, ballot_op.op, comm, &request),
        "MPI_Iallreduce");
  }
};

void pass_on(MPI_Comm comm, std::span<std::byte> bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  Communicator::check(
      MPI_Ibcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, comm, &request),
      "MPI_Ibcast");
  Communicator::wait(request, "MPI_Ibcast");
}

Ballot reduce_by_messages(MPI_Comm comm, const Ballot& mine, std::span<std::byte> aboard = {}) {
  auto reduction = std::make_unique<Reduction>(comm, mine);
  Reduction* const lent = reduction.release();
  Communicator::wait(lent->request, "MPI_Iallreduce", Wait::OutOfPatience::throws);
  reduction.reset(lent);
  if (!aboard.empty() && reduction->all.gone < 0) pass_on(comm, aboard);
  return reduction->all;
}

/// Ranks of a node leave their ballots on their desks; only nodes exchange messages. Nodes come in
/// the order of their lowest ranks, so that rank 0 is always the lowest.
Ballot reduce_in_teams(Team& team, const Ballot& mine, std::span<std::byte> aboard) {
  static_assert(sizeof(Ballot) + most_aboard <= Team::note_bytes &&
                std::is_trivially_copyable_v<Ballot>);
  std::memcpy(team.own_desk().note, &mine, sizeof mine);
  std::copy(aboard.begin(), aboard.end(), team.own_desk().note + sizeof mine);
  const auto join = [&] {
    Ballot all;
    std::memcpy(&all, team.desk(0).note, sizeof all);
    for (int place = 1; place < team.size(); ++place) {
      Ballot next;
      std::memcpy(&next, team.desk(place).note, sizeof next);
      all.join(next);
    }
    if (team.nodes() > 1) all = reduce_by_messages(team.leaders(), all);
    std::memcpy(team.result(), &all, sizeof all);
    if (aboard.empty()) return;
    std::byte* const passed = team.result() + sizeof all;
    std::memcpy(passed, team.desk(0).note + sizeof all, aboard.size());
    if (team.nodes() > 1 && all.gone < 0) pass_on(team.leaders(), {passed, aboard.size()});
  };
  Ballot all;
  if (team.meet(join)) {
    std::memcpy(&all, team.result(), sizeof all);
    std::copy_n(team.result() + sizeof all, aboard.size(), aboard.begin());
    return all;
  }
  all = mine;
  all.gone = team.gone();
  // The other nodes cannot see it.
  return team.nodes() > 1 && team.leads() ? reduce_by_messages(team.leaders(), all) : all;
}

}  // namespace

Ballot reduce(const Communicator& comm, const Ballot& mine, std::span<std::byte> aboard) {
  if (comm.alone()) return mine;
  comm.check_usable();
  const Ballot all = comm.team() != nullptr ? reduce_in_teams(*comm.team(), mine, aboard)
                                            : reduce_by_messages(comm.handle(), mine, aboard);
  if (all.gone >= 0) comm.throw_gone(static_cast<int>(all.gone));
  return all;
}

void leave_for_good(const Communicator& comm) noexcept {
  if (comm.alone() || comm.is_broken_off() || !Communicator::mpi_is_running()) return;
  comm.break_off();
  Team* const team = comm.team();
  if (team != nullptr) team->leave(comm.rank());
  const bool speaks = team == nullptr || (team->nodes() > 1 && team->leads());
  if (!speaks) return;
  Ballot ballot;
  ballot.first_rank = ballot.gone = comm.rank();
  // What the others bring is not waited for. Where this fails, they wait, and say so.
  static_cast<void>(attempt([&] {
    const MPI_Comm who = team != nullptr ? team->leaders() : comm.handle();
    static_cast<void>(std::make_unique<Reduction>(who, ballot).release());
  }));
}

}  // namespace penstock
