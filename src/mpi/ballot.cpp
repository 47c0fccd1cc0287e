#include "mpi/ballot.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

namespace penstock {

void Ballot::join(const Ballot& higher) {
  demand.join(higher.demand);
  if (higher.error_class > error_class ||
      (higher.error_class == error_class && higher.error_rank < error_rank)) {
    error_class = higher.error_class;
    error_rank = higher.error_rank;
  }
  if (other_call_at < 0 && higher.call != call) {
    other_call_at = higher.first_rank;
    other_call = higher.call;
  } else if (other_call_at < 0) {
    other_call_at = higher.other_call_at;
    other_call = higher.other_call;
  }
  waits_for = std::min(waits_for, higher.waits_for);
  oldest_low = std::min(oldest_low, higher.oldest_low);
  oldest_high = std::max(oldest_high, higher.oldest_high);
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

Ballot reduce_by_messages(MPI_Comm comm, const Ballot& mine) {
  static const BallotOp ballot_op;
  // A wait that ends with an error leaves the request to MPI: the memory must stay.
  auto memory = std::make_unique<Ballot[]>(2);
  memory[0] = mine;
  MPI_Request request = MPI_REQUEST_NULL;
  Communicator::check(MPI_Iallreduce(&memory[0], &memory[1], 1, ballot_op.type, ballot_op.op, comm,
                                     &request),
                      "MPI_Iallreduce");
  Ballot* const lent = memory.release();
  Communicator::wait(request, "MPI_Iallreduce", Wait::OutOfPatience::throws);
  memory.reset(lent);
  return memory[1];
}

/// Ranks of a node leave their ballots on their desks; only nodes exchange messages. Nodes come in
/// the order of their lowest ranks, so that rank 0 is always the lowest.
Ballot reduce_in_teams(Team& team, const Ballot& mine) {
  static_assert(sizeof(Ballot) <= Team::note_bytes && std::is_trivially_copyable_v<Ballot>);
  std::memcpy(team.own_desk().note, &mine, sizeof mine);
  team.meet([&] {
    Ballot all;
    std::memcpy(&all, team.desk(0).note, sizeof all);
    for (int place = 1; place < team.size(); ++place) {
      Ballot next;
      std::memcpy(&next, team.desk(place).note, sizeof next);
      all.join(next);
    }
    if (team.nodes() > 1) all = reduce_by_messages(team.leaders(), all);
    std::memcpy(team.result(), &all, sizeof all);
  });
  Ballot all;
  std::memcpy(&all, team.result(), sizeof all);
  return all;
}

}  // namespace

Ballot reduce(const Communicator& comm, const Ballot& mine) {
  if (comm.alone()) return mine;
  comm.check_usable();
  return comm.team() != nullptr ? reduce_in_teams(*comm.team(), mine)
                                : reduce_by_messages(comm.handle(), mine);
}

}  // namespace penstock
