// Team: the ranks of one node, with shared memory. They meet, exchange data through that memory and
// sleep on a futex while they wait. MPI libraries spin while they wait: with more ranks than cores,
// that keeps ranks with work to do from running.
//
// Every rank has a mailbox in that memory: an event (futex), and space for its contribution to an
// agreement. A rank that waits for another one sleeps on its own event; a rank that changes what
// others wait for notifies theirs. So one wait covers any number of conditions.
//
// A group has a team of whole nodes, for opening files, and one more for each file endpoint
// (group.hpp): each has mailboxes of its own, and shares with the first team what does not change.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/shared_extent.hpp"
#include "base/shown_access.hpp"
#include "base/task.hpp"
#include "mpi/event.hpp"
#include "mpi/rank_map.hpp"
#include "mpi/segment.hpp"
#include "mpi/wait.hpp"

namespace penstock {

class Team {
 public:
  /// Collective over `comm`: a team for the ranks of each node. Null on all ranks if some node
  /// cannot share memory; on that node `why` has the reason.
  static std::unique_ptr<Team> of_nodes(MPI_Comm comm, std::string& why);
  /// Collective over this team, which must be of whole nodes and outlive the result. `most`: the
  /// maximal size of a team (0: the node). Null on all ranks of a node without enough memory; `why`
  /// has the reason.
  Task<std::unique_ptr<Team>> make_another(int most, std::string& why);
  /// For tests and simulations: teams of ranks that are all in this process, one team for each.
  /// `node_of`: the node of each rank; nodes are numbered by their lowest ranks.
  static std::vector<std::unique_ptr<Team>> in_one_process(const std::vector<int>& node_of);
  Team(const Team&) = delete;
  ~Team() = default;
  /// Collective over the team: zeroed memory shared by it. On failure null on all ranks, and `why`
  /// has the reason.
  Task<SharedSegment> share(int slot, std::int64_t bytes, std::string& why);
  /// Keeps the segment for the next file that meets here, unless it is too large. Collective over
  /// the team.
  void keep(SharedSegment segment) noexcept;
  /// Empty if none was kept.
  SharedSegment take_kept() noexcept { return std::exchange(kept_, {}); }
  /// Resets this rank's mailbox for the next file of the endpoint. The others do not read it before
  /// the next meeting.
  void clear_own_mailbox() noexcept;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  int node() const noexcept { return node_; }
  int nodes() const noexcept { return nodes_; }
  /// Communicator ranks of this team's members, ascending.
  std::span<const int> members() const noexcept { return members_; }
  /// This rank's communicator rank.
  int own_member() const noexcept { return comm_rank_; }
  int node_of(int comm_rank) const noexcept { return map_.place_of(comm_rank).node; }
  /// The rank of a rank of the communicator within its own team.
  int local_rank_of(int comm_rank) const noexcept { return map_.place_of(comm_rank).local_rank; }
  int size_of(int node) const noexcept { return map_.size_of(node); }
  int rank_at(int node, int local_rank) const noexcept { return map_.rank_at({node, local_rank}); }
  /// While this rank waits for messages of other nodes: nodes some of whose messages are missing;
  /// empty: unknown. For messages to users.
  const std::vector<int>& awaited_nodes() const noexcept { return awaited_nodes_; }
  void await_nodes(std::vector<int> nodes) noexcept { awaited_nodes_ = std::move(nodes); }
  /// Cores that the ranks of this node may use.
  int cores() const noexcept { return cores_; }

  static constexpr std::int64_t note_bytes = 1024, descriptor_words = 380;
  /// Number of calls whose ranks may meet at the same time.
  static constexpr int slots = 16;
  /// Written by one rank, read by the others of its team.
  struct alignas(64) Mailbox {
    Event event;
    std::atomic<std::uint32_t> wants_permit;
    alignas(64) std::byte note[slots][note_bytes];
    // Of this call and the previous one: a rank that is ahead must not overwrite what another
    // reads.
    std::int64_t words[2];
    std::int64_t descriptor[2][descriptor_words];
    std::int64_t process;
    // The memory of this rank's active buffer, for the other ranks: see Arena.
    LentFile arena;
    // Codes of the collective call (call.hpp) of this file that the rank is in, and of its last;
    // whether it waits for others there.
    std::atomic<std::int64_t> call, last_call;
    std::atomic<std::int64_t> begun;  // the last one begun that it waits for later; 0: none
    std::atomic<std::int32_t> waiting;
    // Its storage accesses to this file, and the permits that it holds (take_permit).
    ShownAccess access;
    std::atomic<std::int32_t> permits;
    // Extent of this rank's writes to this file that are buffered and not yet in the file.
    SharedExtent pending;
    // In the mailbox of the team's rank 0: MPI-IO's shared file pointer.
    std::atomic<std::int64_t> shared_pointer;
  };
  Mailbox& mailbox(int local_rank) noexcept { return mailboxes_[local_rank]; }
  Mailbox& own_mailbox() noexcept { return mailboxes_[rank_]; }
  /// This rank's contribution to the next meeting of a slot, and the result of the last one.
  std::byte* own_note(int slot) noexcept { return own_mailbox().note[slot]; }
  std::byte* result(int slot) noexcept;
  /// Number of meetings of all teams of this process.
  static std::int64_t meetings() noexcept;

  /// Ends when all ranks of the team are here. `work`, which makes a task, runs once before anybody
  /// leaves: on the leader if there are other teams (it may send messages), else on the last to
  /// come. False: a rank has left and will not come, so there are no further meetings.
  template <class Work>
  Task<bool> meet(int slot, Work work) {
    const Meeting meeting = arrive(slot);
    if (!meeting.works) {
      co_await until(Expect::meeting, [&] { return is_over(meeting) || gone() >= 0; });
      co_return is_over(meeting);
    }
    co_await until(Expect::meeting, [&] { return all_here(meeting) || gone() >= 0; });
    if (!all_here(meeting)) co_return false;
    co_await work();
    dismiss(meeting);
    co_return true;
  }
  Task<bool> meet(int slot);
  /// This rank (of the communicator) will come to no later meeting.
  void leave(int comm_rank) noexcept;
  /// A rank that has left; -1: none.
  int gone() const noexcept;
  bool leads() const noexcept { return rank_ == 0; }

  void notify(int local_rank) noexcept { mailboxes_[local_rank].event.notify(); }
  /// More ranks than cores: spinning only delays others.
  bool crowded() const noexcept { return crowded_; }

  /// At most `most` threads of the team's ranks hold a permit at a time. False: not now; this rank
  /// is notified when trying again is worthwhile.
  bool try_permit(int most) noexcept;
  /// Waits for a permit; for threads that do not sleep on the event. After PENSTOCK_PATIENCE it
  /// reports on stderr who holds them. Permits of ended processes are taken back.
  void take_permit(int most) noexcept;
  void return_permit() noexcept;

  /// Counts ranks of the team that are copying, and need their cores for it.
  void begin_copying() noexcept;
  void end_copying() noexcept;
  /// Returns when no rank is copying, or after about a millisecond. False: some still are.
  bool await_end_of_copying() noexcept;

 private:
  struct MeetingSlot {
    alignas(64) std::atomic<std::uint32_t> arrived;
    alignas(64) std::atomic<std::uint32_t> meetings;
    alignas(64) std::byte result[note_bytes];
  };
  struct Meeting {
    int slot;
    std::uint32_t number;  // within its slot
    bool works;            // this rank does the work, once all are here
  };
  struct SharedState {
    MeetingSlot slots[Team::slots];
    alignas(64) std::atomic<std::uint32_t> permits_out;
    std::atomic<std::uint32_t> waiting;  // threads waiting in take_permit
    alignas(64) std::atomic<std::uint32_t> copying;
    alignas(64) std::atomic<std::uint32_t> gone;  // 1 + the first rank that has left
  };
  Team() = default;
  void find_node(MPI_Comm comm, MPI_Comm node, MPI_Comm leaders);
  std::byte* lay_out(SharedSegment segment, int teams, int team, int mailboxes,
                     int own_mailbox) noexcept;
  bool find_formula(MPI_Comm comm);
  void share_table(MPI_Comm comm, MPI_Comm leaders);
  std::optional<RankMap> split_formula(int most) const;
  void split_table(const Team& whole, int most);
  void fill_table(const std::vector<int>& node_of);
  template <class T, class Join>
  Task<bool> join_notes(int slot, T& value, Join join);
  Meeting arrive(int slot) noexcept;
  bool all_here(const Meeting& meeting) const noexcept;
  bool is_over(const Meeting& meeting) const noexcept;
  void dismiss(const Meeting& meeting) noexcept;
  bool permit_taken(int most) noexcept;
  void give_permits_back(int count) noexcept;
  void take_back_permits() noexcept;

  int comm_rank_ = 0, comm_size_ = 1;
  int rank_ = 0, size_ = 1, node_ = 0, nodes_ = 1, cores_ = 1;
  bool crowded_ = false;
  std::vector<int> members_, awaited_nodes_;
  SharedSegment segment_, kept_;
  SharedState* common_ = nullptr;
  Mailbox* mailboxes_ = nullptr;
  RankMap map_;
};

}  // namespace penstock
