// Team: the ranks of one node, with memory in common. They meet, exchange notes through that memory
// and sleep on a futex while they wait. MPI libraries spin while they wait: where there are more
// ranks than cores, ranks that have work to do do not run then.
//
// Every rank has a mailbox in that memory: a bell (futex), and space for what it contributes to an
// agreement. A rank that waits for another one sleeps on its own bell; a rank that changes what
// others wait for rings their bells. So one wait covers any number of conditions.
//
// A group has a team of whole nodes, where files are opened, and one more for each lane
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
#include "mpi/bell.hpp"
#include "mpi/rank_map.hpp"
#include "mpi/segment.hpp"
#include "mpi/wait.hpp"

namespace penstock {

class Team {
 public:
  /// Collective over `comm`: the ranks of each node. Null on all ranks where some node cannot share
  /// memory; `why` then says why, on that node.
  static std::unique_ptr<Team> of_nodes(MPI_Comm comm, std::string& why);
  /// Collective over this team, which is of whole nodes and outlives what is made. `most`: no team
  /// is larger (0: as large as the node). Null on all ranks of a node that has no memory for it;
  /// `why` then says why.
  Task<std::unique_ptr<Team>> make_another(int most, std::string& why);
  /// For tests and simulations: teams of ranks that are all in this process, one team for each. Of
  /// each rank its node; nodes are numbered in the order of their lowest ranks.
  static std::vector<std::unique_ptr<Team>> in_one_process(const std::vector<int>& node_of);
  Team(const Team&) = delete;
  ~Team() = default;
  /// Collective over the team: zeroed memory for all of it. Null on all ranks, and `why`, where it
  /// cannot be had.
  Task<SharedSegment> share(int slot, std::int64_t bytes, std::string& why);
  /// For the file that meets here next; what is too large is freed. Every rank of the team calls
  /// it, or none.
  void keep(SharedSegment segment) noexcept;
  /// Empty where none was kept.
  SharedSegment take_kept() noexcept { return std::exchange(kept_, {}); }
  /// Resets this rank's mailbox for the next file of the lane. The others do not read it before the
  /// next meeting.
  void clear_own_mailbox() noexcept;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  int node() const noexcept { return node_; }
  int nodes() const noexcept { return nodes_; }
  /// Ranks in the communicator of those in this team, ascending.
  std::span<const int> members() const noexcept { return members_; }
  /// This rank in the communicator.
  int own_member() const noexcept { return comm_rank_; }
  int node_of(int comm_rank) const noexcept { return map_.place_of(comm_rank).node; }
  /// Rank within its own team of a rank of the communicator.
  int local_rank_of(int comm_rank) const noexcept { return map_.place_of(comm_rank).local_rank; }
  int size_of(int node) const noexcept { return map_.size_of(node); }
  int rank_at(int node, int local_rank) const noexcept { return map_.rank_at({node, local_rank}); }
  /// Where this rank waits for messages of other nodes: those of which some have not come to it;
  /// empty: not known. For messages to people.
  const std::vector<int>& awaited_nodes() const noexcept { return awaited_nodes_; }
  void await_nodes(std::vector<int> nodes) noexcept { awaited_nodes_ = std::move(nodes); }
  /// Cores that the ranks of this node may use.
  int cores() const noexcept { return cores_; }

  static constexpr std::int64_t note_bytes = 1024, descriptor_words = 380;
  /// Calls whose ranks may meet at a time.
  static constexpr int slots = 16;
  /// Written by one rank, read by the others of its team.
  struct alignas(64) Mailbox {
    Bell bell;
    std::atomic<std::uint32_t> wants_permit;
    alignas(64) std::byte note[slots][note_bytes];
    // Of this call and of the one before: a rank that is ahead must not change what another reads.
    std::int64_t words[2];
    std::int64_t descriptor[2][descriptor_words];
    std::int64_t process;
    // The memory of this rank's active buffer, for the others: see Arena.
    LentFile arena;
    // Codes of the collective call (call.hpp) of this file that the rank is in, and was in last;
    // whether it waits for others there.
    std::atomic<std::int64_t> call, last_call;
    std::atomic<std::int64_t> begun;  // the last that it has begun and waits for later; 0: none
    std::atomic<std::int32_t> waiting;
    // What it does at the storage of this file, and permits that it has (take_permit).
    ShownAccess access;
    std::atomic<std::int32_t> permits;
    // Where writes of this rank to this file are buffered, and not in the file yet.
    SharedExtent pending;
    // Of the team's rank 0: the shared file pointer of MPI-IO.
    std::atomic<std::int64_t> shared_pointer;
  };
  Mailbox& mailbox(int local_rank) noexcept { return mailboxes_[local_rank]; }
  Mailbox& own_mailbox() noexcept { return mailboxes_[rank_]; }
  /// What this rank brings to the next meeting of a slot, and what the last one came to.
  std::byte* own_note(int slot) noexcept { return own_mailbox().note[slot]; }
  std::byte* result(int slot) noexcept;
  /// Meetings of all teams of this process.
  static std::int64_t meetings() noexcept;

  /// Ends when all of the team are here. `work`, which makes a task, is done once before anybody
  /// leaves: on the leader if there are other teams (it may send messages), else on whoever comes
  /// last. False: one of the team is gone and will not come, nor will there be another meeting.
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
  /// This rank (of the communicator) will not come to any later meeting.
  void leave(int comm_rank) noexcept;
  /// One that has left; -1: none.
  int gone() const noexcept;
  bool leads() const noexcept { return rank_ == 0; }

  void ring(int local_rank) noexcept { mailboxes_[local_rank].bell.ring(); }
  /// More ranks than cores: spinning only delays others.
  bool crowded() const noexcept { return crowded_; }

  /// At most `most` threads of the team's ranks hold a permit at a time. False: not now; the bell
  /// rings when it is worth another try.
  bool try_permit(int most) noexcept;
  /// Waits for one; for threads that do not sleep on the bell. After PENSTOCK_PATIENCE it says on
  /// stderr who has them. Those of a process that has ended are taken back.
  void take_permit(int most) noexcept;
  void return_permit() noexcept;

  /// Ranks of the team that are busy copying, and need their cores for it.
  void begin_copying() noexcept;
  void end_copying() noexcept;
  /// Returns when no rank is, or after about a millisecond. False: some still are.
  bool await_end_of_copying() noexcept;

 private:
  struct MeetingSlot {
    alignas(64) std::atomic<std::uint32_t> arrived;
    alignas(64) std::atomic<std::uint32_t> meetings;
    alignas(64) std::byte result[note_bytes];
  };
  struct Meeting {
    int slot;
    std::uint32_t number;  // in its slot
    bool works;            // this rank, once all are here
  };
  struct SharedState {
    MeetingSlot slots[Team::slots];
    alignas(64) std::atomic<std::uint32_t> permits_out;
    std::atomic<std::uint32_t> waiting;  // for one, in take_permit
    alignas(64) std::atomic<std::uint32_t> copying;
    alignas(64) std::atomic<std::uint32_t> gone;  // 1 + the first rank that has left
  };
  Team() = default;
  void find_node(MPI_Comm comm, MPI_Comm node, MPI_Comm leaders);
  std::byte* lay_out(SharedSegment segment, int teams, int team, int mailboxes,
                     int own_mailbox) noexcept;
  bool find_formula(MPI_Comm comm);
  void tell_nodes(MPI_Comm comm, MPI_Comm leaders);
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
