// Team: the ranks of one node, with memory in common. They meet, leave notes for each other and
// sleep (futex) until something happens. MPI libraries spin while they wait; where ranks outnumber
// cores, that keeps those from running who have the work.
//
// Every rank has a desk: a bell, and room for what it brings to an agreement. Who waits for
// anything another rank does sleeps on its own bell; whoever does something rings the bells of
// those it concerns. So one wait covers any number of conditions.
//
// A group has a team of whole nodes, where files are opened, and one more for each lane
// (group.hpp): these have desks of their own, and share with the first what does not change.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

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
  std::unique_ptr<Team> make_another(int most, std::string& why);
  /// Collective over `comm`: the first ranks of the teams find each other.
  void join_leaders(MPI_Comm comm);
  Team(const Team&) = delete;
  /// Gives no communicator back: something may be under way.
  ~Team() = default;
  /// Gives the communicator of the leaders back. Nothing is under way in it.
  void free_leaders() noexcept;
  /// Collective over the team: zeroed memory for all of it. Null on all ranks, and `why`, where it
  /// cannot be had.
  SharedSegment share(std::int64_t bytes, std::string& why);
  /// As if nothing had been done here yet, as far as this rank is concerned. The others will not
  /// look before they have met.
  void clear_own_desk() noexcept;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  int node() const noexcept { return node_; }
  int nodes() const noexcept { return nodes_; }
  /// Ranks in the communicator of those in this team, ascending.
  std::span<const int> members() const noexcept { return members_; }
  int node_of(int comm_rank) const noexcept { return table_.node_of[comm_rank]; }
  /// Place of a rank of the communicator within its own team.
  int place_of(int comm_rank) const noexcept { return table_.place_of[comm_rank]; }
  int size_of(int node) const noexcept { return table_.start_of[node + 1] - table_.start_of[node]; }
  int rank_at(int node, int place) const noexcept {
    return table_.by_node[table_.start_of[node] + place];
  }
  /// One rank of every team, ordered by node; MPI_COMM_NULL on the others, and with one node.
  MPI_Comm leaders() const noexcept { return leaders_; }
  /// That the ranks of this node may use.
  int cores() const noexcept { return cores_; }

  static constexpr std::int64_t note_bytes = 1024, letter_words = 380;
  struct alignas(64) Desk {
    std::atomic<std::uint32_t> bell, asleep, wants_permit;
    alignas(64) std::byte note[note_bytes];
    // Of this call and of the one before: a rank that is ahead must not change what another reads.
    std::int64_t words[2];
    std::int64_t letter[2][letter_words];
    std::int64_t process;
    // The memory of this rank's active buffer, for the others: see Arena. -1: none.
    std::int64_t arena;
    // Codes of the collective call (call.hpp) of this file that the rank is in, and was in last;
    // whether it waits for others there.
    std::atomic<std::int64_t> call, last_call;
    std::atomic<std::int32_t> waiting;
  };
  Desk& desk(int place) noexcept { return desks_[place]; }
  Desk& own_desk() noexcept { return desks_[rank_]; }
  /// What the last meeting came to.
  std::byte* result() noexcept;
  /// Meetings of all teams of this process.
  static std::int64_t meetings() noexcept;

  /// Returns when all of the team are here. `work` runs once before anybody leaves: on the leader
  /// if there are other teams (it may call MPI), else on whoever comes last. False: one of the team
  /// is gone and will not come, nor will there be another meeting.
  template <class Work>
  bool meet(Work&& work) {
    count_meeting();
    const std::uint32_t meeting = this_meeting();
    if (arrive()) {
      work();
      dismiss(meeting);
      return true;
    }
    return await(meeting);
  }
  /// This rank (of the communicator) will come to no meeting any more.
  void leave(int comm_rank) noexcept;
  /// One that has left; -1: none.
  int gone() const noexcept;
  bool leads() const noexcept { return rank_ == 0; }

  std::uint32_t heard() const noexcept;  // rings so far
  void ring(int place) noexcept;
  /// Returns once the bell has rung more often than `heard`, or after a while: the caller looks
  /// whether what it waits for is there. `messages`: also for messages of this rank.
  void sleep(std::uint32_t heard, Wait& wait, bool messages);

  /// At most `most` threads of the team's ranks hold a permit at a time. False: not now; the bell
  /// rings when it is worth another try.
  bool try_permit(int most) noexcept;
  /// Waits for one; for threads that do not listen to the bell.
  void take_permit(int most) noexcept;
  void return_permit() noexcept;

  /// Ranks of the team that are busy copying, and need their cores for it.
  void begin_copying() noexcept;
  void end_copying() noexcept;
  /// Returns when no rank is, or after about a millisecond. False: some still are.
  bool await_end_of_copying() noexcept;

 private:
  struct Common {
    alignas(64) std::atomic<std::uint32_t> arrived;
    alignas(64) std::atomic<std::uint32_t> meeting;
    alignas(64) std::atomic<std::uint32_t> permits_out;
    std::atomic<std::uint32_t> waiting;  // for one, in take_permit
    alignas(64) std::atomic<std::uint32_t> copying;
    alignas(64) std::atomic<std::uint32_t> gone;  // 1 + the first rank that has left
    alignas(64) std::byte result[note_bytes];
  };
  /// Where every rank lives: one table per node, not per rank.
  struct Table {
    std::int32_t* node_of = nullptr;
    std::int32_t* place_of = nullptr;
    std::int32_t* start_of = nullptr;  // of each node's ranks in by_node
    std::int32_t* by_node = nullptr;

    static Table at(std::byte* memory, int comm_size) noexcept;
    static std::int64_t bytes(int comm_size) noexcept {
      return (4 * comm_size + 1) * static_cast<std::int64_t>(sizeof(std::int32_t));
    }
    /// Once node_of and place_of are there.
    void index(int comm_size) noexcept;
  };

  Team() = default;
  void find_node(MPI_Comm comm, MPI_Comm node);
  std::byte* lay_out(SharedSegment segment, int teams, int team, int desks, int own_desk) noexcept;
  void tell_nodes(MPI_Comm comm);
  void split_table(const Team& whole, int most);
  template <class T, class Join>
  bool join_notes(T& value, Join&& join);
  std::uint32_t this_meeting() const noexcept;
  bool arrive();
  void dismiss(std::uint32_t meeting) noexcept;
  bool await(std::uint32_t meeting);
  static void count_meeting() noexcept;

  MPI_Comm leaders_ = MPI_COMM_NULL;
  int comm_rank_ = 0, comm_size_ = 1;
  int rank_ = 0, size_ = 1, node_ = 0, nodes_ = 1, cores_ = 1;
  bool crowded_ = false;  // more ranks than cores: spinning only delays others
  std::vector<int> members_;
  SharedSegment segment_;
  Common* common_ = nullptr;
  Desk* desks_ = nullptr;
  Table table_;
};

}  // namespace penstock
