#include "mpi/agree.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <type_traits>

namespace penstock {
namespace {

constexpr int max_common = 20;

/// What one rank, or a range of ranks, brings. Plain bytes: it travels through MPI_Allreduce.
struct Ballot {
  Demand demand;
  std::int64_t error_class = 0;
  std::int64_t error_rank = -1;  // lowest rank of the gravest class
  std::int64_t first_rank = 0;
  std::int64_t common_count = 0;
  std::uint64_t common[max_common] = {};  // of the lowest rank
  std::int64_t differs_at[max_common];    // lowest rank that passed something else; -1: none
};

/// Joins the ballots of lower ranks with those of higher ones. Associative, not commutative.
void join(Ballot& lower, const Ballot& higher) {
  lower.demand.join(higher.demand);
  if (higher.error_class > lower.error_class ||
      (higher.error_class == lower.error_class && higher.error_rank < lower.error_rank)) {
    lower.error_class = higher.error_class;
    lower.error_rank = higher.error_rank;
  }
  for (int i = 0; i < max_common; ++i) {
    if (lower.differs_at[i] >= 0) continue;
    lower.differs_at[i] =
        higher.common[i] != lower.common[i] ? higher.first_rank : higher.differs_at[i];
  }
}

void join_ballots(void* lower, void* higher_and_result, int* count, MPI_Datatype*) {
  const auto* in = static_cast<const Ballot*>(lower);
  auto* inout = static_cast<Ballot*>(higher_and_result);
  for (int i = 0; i < *count; ++i) {
    Ballot joined = in[i];
    join(joined, inout[i]);
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
  Ballot all;
  MPI_Request request = MPI_REQUEST_NULL;
  Communicator::check(MPI_Iallreduce(&mine, &all, 1, ballot_op.type, ballot_op.op, comm, &request),
                      "MPI_Iallreduce");
  Communicator::wait(request, "MPI_Iallreduce");
  return all;
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
      join(all, next);
    }
    if (team.nodes() > 1) all = reduce_by_messages(team.leaders(), all);
    std::memcpy(team.result(), &all, sizeof all);
  });
  Ballot all;
  std::memcpy(&all, team.result(), sizeof all);
  return all;
}

Ballot reduce(const Communicator& comm, const Ballot& mine) {
  if (comm.alone()) return mine;
  return comm.team() != nullptr ? reduce_in_teams(*comm.team(), mine)
                                : reduce_by_messages(comm.handle(), mine);
}

Ballot ballot_of(const Communicator& comm, const std::optional<Error>& error) {
  Ballot ballot;
  std::fill(std::begin(ballot.differs_at), std::end(ballot.differs_at), -1);
  ballot.first_rank = comm.rank();
  if (error) {
    ballot.error_class = static_cast<std::int64_t>(error->error_class());
    ballot.error_rank = comm.rank();
  }
  return ballot;
}

/// An error as it travels to the ranks that did not fail.
struct Wire {
  std::int64_t offset;
  int cls, error_number;
  char path[1024];
  char message[2048];
};

void put(char* to, std::size_t room, const std::string& text) {
  const std::size_t length = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

/// The same on every rank, the failing one included: people compare outputs of ranks.
[[noreturn]] void throw_everywhere(const Communicator& comm, int rank,
                                   const std::optional<Error>& own) {
  Wire wire{};
  if (comm.rank() == rank && own) {
    wire.offset = own->offset();
    wire.cls = static_cast<int>(own->error_class());
    wire.error_number = own->error_number();
    put(wire.path, sizeof wire.path, own->path());
    put(wire.message, sizeof wire.message, own->what());
  }
  comm.broadcast(std::as_writable_bytes(std::span(&wire, 1)), rank);
  std::string message = wire.message;
  if (!comm.alone()) message = "rank " + std::to_string(rank) + ": " + message;
  throw Error::from_rank(rank, static_cast<ErrorClass>(wire.cls), message, wire.path, wire.offset,
                         wire.error_number);
}

std::string shared_text(const Communicator& comm, int root, const std::string& text) {
  char buffer[512] = "";
  if (comm.rank() == root) put(buffer, sizeof buffer, text);
  comm.broadcast(std::as_writable_bytes(std::span(buffer)), root);
  return buffer;
}

[[noreturn]] void throw_disagreement(const Communicator& comm, const Common& common, int rank) {
  const std::string first = shared_text(comm, 0, common.value);
  const std::string other = shared_text(comm, rank, common.value);
  throw Error::from_rank(rank, ErrorClass::disagreement,
                         "ranks disagree on " + common.name + ": rank 0 passed " + first +
                             ", rank " + std::to_string(rank) + " passed " + other +
                             "; all ranks of the communicator must pass the same",
                         "", -1, 0);
}

}  // namespace

Demand agree_on_entry(const Communicator& comm, const std::vector<Common>& common,
                      const Demand& demand, const std::optional<Error>& error) {
  Ballot mine = ballot_of(comm, error);
  mine.demand = demand;
  for (std::size_t i = 0; i < common.size() && i < max_common; ++i) mine.common[i] = common[i].hash;
  const Ballot all = reduce(comm, mine);
  // An error first: a rank that failed early may not know its common values.
  if (all.error_class != 0) throw_everywhere(comm, static_cast<int>(all.error_rank), error);
  for (std::size_t i = 0; i < common.size(); ++i)
    if (all.differs_at[i] >= 0)
      throw_disagreement(comm, common[i], static_cast<int>(all.differs_at[i]));
  return all.demand;
}

void agree_on_exit(const Communicator& comm, const std::optional<Error>& error) {
  const Ballot all = reduce(comm, ballot_of(comm, error));
  if (all.error_class != 0) throw_everywhere(comm, static_cast<int>(all.error_rank), error);
}

bool any_rank(const Communicator& comm, bool here) {
  Ballot mine = ballot_of(comm, std::nullopt);
  mine.demand.words = here ? 1 : 0;  // of which the largest survives
  return reduce(comm, mine).demand.words != 0;
}

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorClass::internal, "out of memory");
  } catch (const std::exception& error) {
    return Error(ErrorClass::internal, std::string("unexpected: ") + error.what());
  } catch (...) {
    return Error(ErrorClass::internal, "unexpected exception");
  }
}

}  // namespace penstock
