// How teams are set up.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include <penstock/error.hpp>

#include "base/cores.hpp"
#include "mpi/communicator.hpp"
#include "mpi/drive.hpp"
#include "mpi/team.hpp"

namespace penstock {
namespace {

/// By messages, since a node has no shared memory yet.
SharedSegment share_by_messages(MPI_Comm node, std::int64_t bytes, std::string& why) {
  int rank = 0;
  MPI_Comm_rank(node, &rank);
  SharedSegment segment;
  SharedSegment::Invitation invitation;
  if (rank == 0) invitation = segment.create(bytes);
  Communicator::check(MPI_Bcast(&invitation, sizeof invitation, MPI_BYTE, 0, node), "MPI_Bcast");
  const int error = rank == 0 ? invitation.error : segment.join(invitation, bytes);
  int gravest = 0;
  Communicator::check(MPI_Allreduce(&error, &gravest, 1, MPI_INT, MPI_MAX, node), "MPI_Allreduce");
  return SharedSegment::complete(std::move(segment), gravest, why);
}

/// The first rank of each node, ordered by the ranks of `comm`; MPI_COMM_NULL on the others.
MPI_Comm split_leaders(MPI_Comm comm, MPI_Comm node) {
  int rank = 0, local_rank = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_rank(node, &local_rank);
  MPI_Comm leaders = MPI_COMM_NULL;
  Communicator::check(MPI_Comm_split(comm, local_rank == 0 ? 0 : MPI_UNDEFINED, rank, &leaders),
                      "MPI_Comm_split");
  if (leaders != MPI_COMM_NULL) MPI_Comm_set_errhandler(leaders, MPI_ERRORS_RETURN);
  return leaders;
}

}  // namespace

std::unique_ptr<Team> Team::of_nodes(MPI_Comm comm, std::string& why) {
  std::unique_ptr<Team> team(new Team);
  MPI_Comm node = MPI_COMM_NULL;
  Communicator::check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
                      "MPI_Comm_split_type");
  MPI_Comm leaders = split_leaders(comm, node);
  team->find_node(comm, node, leaders);
  const bool has_table = !team->find_formula(comm);
  const std::int64_t bytes = static_cast<std::int64_t>(sizeof(SharedState)) +
                             team->size_ * static_cast<std::int64_t>(sizeof(Mailbox)) +
                             (has_table ? RankMap::table_bytes(team->comm_size_) : 0);
  SharedSegment segment = share_by_messages(node, bytes, why);
  MPI_Comm_free(&node);
  int works = segment ? 1 : 0, all_work = 0;
  Communicator::check(MPI_Allreduce(&works, &all_work, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
  if (!all_work) {
    if (works) why = "another node cannot";
    if (leaders != MPI_COMM_NULL) MPI_Comm_free(&leaders);
    return nullptr;
  }
  std::byte* const rest = team->lay_out(std::move(segment), 1, 0, team->size_, team->rank_);
  if (has_table) team->map_ = RankMap::table(rest, team->comm_size_);
  if (has_table) team->share_table(comm, leaders);
  if (leaders != MPI_COMM_NULL) MPI_Comm_free(&leaders);
  Cores cores = Cores::own();
  drive(*team, team->join_notes(0, cores, [](Cores& all, const Cores& next) { all.join(next); }));
  team->cores_ = cores.count();
  team->crowded_ = team->size_ > team->cores_;
  return team;
}

void Team::find_node(MPI_Comm comm, MPI_Comm node, MPI_Comm leaders) {
  MPI_Comm_rank(comm, &comm_rank_);
  MPI_Comm_size(comm, &comm_size_);
  MPI_Comm_rank(node, &rank_);
  MPI_Comm_size(node, &size_);
  int node_and_nodes[2] = {};
  if (leaders != MPI_COMM_NULL) {
    MPI_Comm_rank(leaders, &node_and_nodes[0]);
    MPI_Comm_size(leaders, &node_and_nodes[1]);
  }
  Communicator::check(MPI_Bcast(node_and_nodes, 2, MPI_INT, 0, node), "MPI_Bcast");
  node_ = node_and_nodes[0];
  nodes_ = node_and_nodes[1];
  members_.resize(static_cast<std::size_t>(size_));
  Communicator::check(MPI_Allgather(&comm_rank_, 1, MPI_INT, members_.data(), 1, MPI_INT, node),
                      "MPI_Allgather");
}

/// Zeroed memory is a valid initial state for all of it. Returns the memory after it.
std::byte* Team::lay_out(SharedSegment segment, int teams, int team, int mailboxes,
                         int own_mailbox) noexcept {
  segment_ = std::move(segment);
  std::byte* at = segment_.data();
  common_ = reinterpret_cast<SharedState*>(at) + team;
  at += static_cast<std::size_t>(teams) * sizeof(SharedState);
  Mailbox* const first = reinterpret_cast<Mailbox*>(at);
  mailboxes_ = first + (own_mailbox - rank_);
  this->own_mailbox().process = ::getpid();
  return at + static_cast<std::size_t>(mailboxes) * sizeof(Mailbox);
}

/// Whether the placement of all ranks follows a formula.
bool Team::find_formula(MPI_Comm comm) {
  int widest = size_;
  Communicator::check(MPI_Allreduce(MPI_IN_PLACE, &widest, 1, MPI_INT, MPI_MAX, comm),
                      "MPI_Allreduce");
  const RankMap forms[] = {RankMap::blocks(comm_size_, widest),
                           RankMap::in_turn(comm_size_, nodes_)};
  const RankMap::Place here{node_, rank_};
  int fit[] = {forms[0].place_of(comm_rank_) == here, forms[1].place_of(comm_rank_) == here};
  Communicator::check(MPI_Allreduce(MPI_IN_PLACE, fit, 2, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
  map_ = fit[0] ? forms[0] : forms[1];
  return fit[0] || fit[1];
}

/// Without a formula: all ranks send to rank 0 of the communicator, whose table the leaders
/// distribute.
void Team::share_table(MPI_Comm comm, MPI_Comm leaders) {
  std::vector<int> all;
  const int mine[2] = {node_, rank_};
  if (leads()) all.resize(2 * static_cast<std::size_t>(comm_size_));
  Communicator::check(MPI_Gather(mine, 2, MPI_INT, all.data(), 2, MPI_INT, 0, comm), "MPI_Gather");
  if (leaders != MPI_COMM_NULL)
    Communicator::check(MPI_Bcast(all.data(), 2 * comm_size_, MPI_INT, 0, leaders), "MPI_Bcast");
  if (leads()) {
    for (int rank = 0; rank < comm_size_; ++rank) {
      const auto at = 2 * static_cast<std::size_t>(rank);
      map_.set(rank, {all[at], all[at + 1]});
    }
    map_.index();
  }
  drive(*this, meet(0));
}

Task<std::unique_ptr<Team>> Team::make_another(int most, std::string& why) {
  const bool whole = most == 0;
  const int widest = whole ? size_ : most, teams = (size_ + widest - 1) / widest;
  const std::optional<RankMap> formula = whole ? map_ : split_formula(most);
  const std::int64_t bytes = teams * static_cast<std::int64_t>(sizeof(SharedState)) +
                             size_ * static_cast<std::int64_t>(sizeof(Mailbox)) +
                             (formula ? 0 : RankMap::table_bytes(comm_size_));
  SharedSegment segment = co_await share(0, bytes, why);
  if (!segment) co_return nullptr;
  std::unique_ptr<Team> team(new Team);
  const int begin = rank_ / widest * widest;
  team->comm_rank_ = comm_rank_;
  team->comm_size_ = comm_size_;
  team->rank_ = rank_ - begin;
  team->members_.assign(members_.begin() + begin,
                        members_.begin() + std::min(begin + widest, size_));
  team->size_ = static_cast<int>(team->members_.size());
  team->cores_ = cores_;
  team->crowded_ = team->size_ > cores_;
  std::byte* const rest = team->lay_out(std::move(segment), teams, rank_ / widest, size_, rank_);
  team->map_ = formula ? *formula : RankMap::table(rest, comm_size_);
  team->node_ = node_;
  team->nodes_ = nodes_;
  if (!whole) {
    team->nodes_ = 0;
    for (int node = 0; node < nodes_; ++node) team->nodes_ += (size_of(node) + most - 1) / most;
    if (leads() && !formula) team->split_table(*this, most);
    co_await meet(0);
    team->node_ = team->node_of(comm_rank_);
  }
  co_return team;
}

std::vector<std::unique_ptr<Team>> Team::in_one_process(const std::vector<int>& node_of) {
  const int ranks = static_cast<int>(node_of.size());
  std::vector<std::vector<int>> members;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto node = static_cast<std::size_t>(node_of[static_cast<std::size_t>(rank)]);
    if (node == members.size()) members.emplace_back();
    members[node].push_back(rank);
  }
  std::vector<std::unique_ptr<Team>> teams(node_of.size());
  for (std::size_t node = 0; node < members.size(); ++node) {
    const int size = static_cast<int>(members[node].size());
    const std::int64_t bytes = static_cast<std::int64_t>(sizeof(SharedState)) +
                               size * static_cast<std::int64_t>(sizeof(Mailbox)) +
                               RankMap::table_bytes(ranks);
    SharedSegment first;
    const SharedSegment::Invitation invitation = first.create(bytes);
    for (int local_rank = 0; local_rank < size; ++local_rank) {
      std::unique_ptr<Team> team(new Team);
      team->comm_rank_ = members[node][static_cast<std::size_t>(local_rank)];
      team->comm_size_ = ranks;
      team->rank_ = local_rank;
      team->size_ = size;
      team->node_ = static_cast<int>(node);
      team->nodes_ = static_cast<int>(members.size());
      team->crowded_ = true;
      team->members_ = members[node];
      SharedSegment mine;
      std::string why;
      const int error = invitation.error != 0 ? invitation.error : mine.join(invitation, bytes);
      mine = SharedSegment::complete(std::move(mine), error, why);
      if (!mine) throw Error(ErrorClass::internal, "no memory for simulated ranks: " + why);
      team->map_ = RankMap::table(team->lay_out(std::move(mine), 1, 0, size, local_rank), ranks);
      if (local_rank == 0) team->fill_table(node_of);
      teams[static_cast<std::size_t>(team->comm_rank_)] = std::move(team);
    }
  }
  return teams;
}

void Team::fill_table(const std::vector<int>& node_of) {
  std::vector<int> local_ranks(node_of.size());
  for (std::size_t rank = 0; rank < node_of.size(); ++rank) {
    const int node = node_of[rank];
    map_.set(static_cast<int>(rank), {node, local_ranks[static_cast<std::size_t>(node)]++});
  }
  map_.index();
}

/// For blocks that are split into blocks.
std::optional<RankMap> Team::split_formula(int most) const {
  if (map_.is_table() || map_.rank_at({0, size_of(0) - 1}) != size_of(0) - 1) return std::nullopt;
  if (nodes_ > 1 && size_of(0) % most != 0) return std::nullopt;
  return RankMap::blocks(comm_size_, most);
}

/// Teams are numbered by their lowest ranks, as their leaders are.
void Team::split_table(const Team& whole, int most) {
  std::vector<int> first{0};  // index in `number` of each node's first team
  for (int node = 0; node < whole.nodes_; ++node)
    first.push_back(first.back() + (whole.size_of(node) + most - 1) / most);
  std::vector<int> number(static_cast<std::size_t>(first.back()));
  int teams = 0;
  for (int rank = 0; rank < comm_size_; ++rank) {
    const int local_rank = whole.local_rank_of(rank);
    const int team = first[static_cast<std::size_t>(whole.node_of(rank))] + local_rank / most;
    int& numbered = number[static_cast<std::size_t>(team)];
    if (local_rank % most == 0) numbered = teams++;
    map_.set(rank, {numbered, local_rank % most});
  }
  map_.index();
}

template <class T, class Join>
Task<bool> Team::join_notes(int slot, T& value, Join join) {
  static_assert(sizeof(T) <= note_bytes && std::is_trivially_copyable_v<T>);
  std::memcpy(own_note(slot), &value, sizeof value);
  const auto joined = [&]() -> Task<> {
    T all, next;
    std::memcpy(&all, mailbox(0).note[slot], sizeof all);
    for (int local_rank = 1; local_rank < size_; ++local_rank) {
      std::memcpy(&next, mailbox(local_rank).note[slot], sizeof next);
      join(all, next);
    }
    std::memcpy(result(slot), &all, sizeof all);
    co_return;
  };
  const bool met = co_await meet(slot, joined);
  if (met) std::memcpy(&value, result(slot), sizeof value);
  co_return met;
}

Task<SharedSegment> Team::share(int slot, std::int64_t bytes, std::string& why) {
  SharedSegment segment;
  SharedSegment::Invitation first;
  if (leads()) first = segment.create(bytes);
  const auto keep_first = [](auto&, const auto&) {};
  if (!co_await join_notes(slot, first, keep_first)) first.error = EOWNERDEAD;
  int error = first.error;
  if (!leads() && error == 0) error = segment.join(first, bytes);
  const auto gravest = [](int& a, int b) { a = std::max(a, b); };
  if (!co_await join_notes(slot, error, gravest)) error = EOWNERDEAD;
  co_return SharedSegment::complete(std::move(segment), error, why);
}

void Team::keep(SharedSegment segment) noexcept {
  constexpr std::int64_t most_of_a_rank = 8 << 20;
  if (segment && segment.size() <= most_of_a_rank * size_) kept_ = std::move(segment);
}

void Team::clear_own_mailbox() noexcept {
  Mailbox& mailbox = own_mailbox();
  mailbox.words[0] = mailbox.words[1] = 0;
  mailbox.wants_permit = 0;
  mailbox.call = mailbox.last_call = mailbox.begun = 0;
  mailbox.waiting = 0;
  mailbox.permits = 0;
  mailbox.pending.clear();
  mailbox.shared_pointer = 0;
}

}  // namespace penstock
