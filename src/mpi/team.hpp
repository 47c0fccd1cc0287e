// Team: the ranks of one node, with memory in common. They meet, leave notes for each other and
// sleep (futex) until something happens. MPI libraries spin while they wait; where ranks outnumber
// cores, that keeps those from running who have the work.
//
// Every rank has a desk: a bell, and room for what it brings to an agreement. Who waits for
// anything another rank does sleeps on its own bell; whoever does something rings the bells of
// those it concerns. So one wait covers any number of conditions.
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
  /// Collective over `comm`. `most`: no team is larger (0: as large as the node). Null on all
  /// ranks where some node cannot share memory; `why` then says why, on that node.
  static std::unique_ptr<Team> form(MPI_Comm comm, int most, std::string& why);
  Team(const Team&) = delete;
  ~Team();
  /// Gives the communicators back, before MPI ends; `keep`: only forgets them.
  void release(bool keep = false) noexcept;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  int node() const noexcept { return node_; }
  int nodes() const noexcept { return nodes_; }
  /// Ranks in the communicator of those in this team, ascending.
  std::span<const int> members() const noexcept { return members_; }
  int node_of(int comm_rank) const noexcept { return node_of_[comm_rank]; }
  /// Place of a rank of the communicator within its own team.
  int place_of(int comm_rank) const noexcept { return place_of_[comm_rank]; }
  int size_of(int node) const noexcept { return start_of_[node + 1] - start_of_[node]; }
  int rank_at(int node, int place) const noexcept { return by_node_[start_of_[node] + place]; }
  MPI_Comm node_comm() const noexcept { return node_comm_; }
  /// One rank of every team, ordered by node; MPI_COMM_NULL on the others.
  MPI_Comm leaders() const noexcept { return leaders_; }

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

  /// Returns when all of the team are here. `work` runs once before anybody leaves: on the leader
  /// if there are other teams (it may call MPI), else on whoever comes last. False: one of the team
  /// is gone and will not come, nor will there be another meeting.
  template <class Work>
  bool meet(Work&& work) {
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
  struct Common;
  Team() = default;
  void split(MPI_Comm comm, int most);
  void lay_out(int comm_size);
  void tell_nodes(MPI_Comm comm);
  std::uint32_t this_meeting() const noexcept;
  bool arrive();
  void dismiss(std::uint32_t meeting) noexcept;
  bool await(std::uint32_t meeting);

  MPI_Comm node_comm_ = MPI_COMM_NULL, leaders_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, node_ = 0, nodes_ = 1;
  bool crowded_ = false;  // more ranks than cores: spinning only delays others
  std::vector<int> members_;
  SharedSegment segment_;
  Common* common_ = nullptr;
  Desk* desks_ = nullptr;
  std::int32_t* node_of_ = nullptr;
  std::int32_t* place_of_ = nullptr;
  std::int32_t* start_of_ = nullptr;  // of each node's ranks in by_node_
  std::int32_t* by_node_ = nullptr;
};

}  // namespace penstock
