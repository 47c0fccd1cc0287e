// Group: what the files of one communicator have in common, made at the first open and kept with
// the user's communicator (as an attribute) until that is freed or MPI ends.
//
//   entrance  where all ranks meet to open a file: the team of whole nodes
//   lanes     where the ranks of one open file meet: a duplicate, and a team of its own
//
// Files do not share a lane: operations of different files may be in threads, whose order differs
// between ranks. A file takes the lowest lane that is idle on all ranks, and its collective close
// gives it back. So files that are opened one after the other need one duplicate and one team.
//
// Invariants:
//   1. A slot gets a lane only where all ranks have it vacant, and all get one then. So a lane that
//      is idle on all ranks is the same one.
//   2. A lane becomes idle only after all ranks have agreed that its file is closed, or was not
//      opened. What else becomes of it (a rank has let go of its file, or has given up waiting), no
//      rank uses it again, and its duplicate is not freed: something may be under way there.
//   3. All ranks have met at the entrance between two files of one lane. So no rank still looks at
//      what another one did for the file before.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "mpi/team.hpp"
#include "mpi/transport.hpp"

namespace penstock {

/// What a rank has where it meets the others: a communicator, a transport and a team.
struct Endpoint {
  MPI_Comm comm = MPI_COMM_NULL;
  std::unique_ptr<Transport> transport;  // null: ranks never exchange messages here
  std::unique_ptr<Team> team;            // null: ranks of a node cannot share memory
  int writers = 1;          // ranks that can use a core of their own, summed over the nodes
  bool idle_cores = false;  // every rank's I/O thread can have a core of its own, too
  bool broken_off = false;  // this rank will not meet the others here any more
};

/// Where the ranks of an open file meet.
struct Lane : Endpoint {
  int slot = -1;           // of the group; -1: of none, made for one file
  int most = 0;            // ranks of a team at most; 0: whole nodes
  std::int64_t calls = 0;  // collective calls of its files so far
};

/// Which slots of a group have an idle lane, and which have no lane, as one bit per slot: of one
/// rank, or the intersection of all ranks.
struct FreeLanes {
  std::uint64_t idle = ~std::uint64_t{0}, vacant = ~std::uint64_t{0};
};

class Group {
 public:
  static constexpr int slots = 64;

  /// Of the user's communicator. Not collective.
  static std::shared_ptr<Group> of(MPI_Comm user);
  /// Collective, where it has no entrance yet. Under opening(): threads may come at a time.
  void form(MPI_Comm user);
  /// Before MPI ends. Ranks of the node that wait in an open learn that this one will not come.
  static void release_all() noexcept;
  /// To the other ranks of the node: this one was refused to open a file without a communicator.
  static void show_refusal() noexcept;
  Group(const Group&) = delete;
  ~Group();

  Endpoint& entrance() noexcept { return entrance_; }
  const std::string& why_no_team() const noexcept { return why_no_team_; }
  /// Held while a file is opened.
  std::mutex& opening() noexcept { return opening_; }

  /// Lanes with this `most` that are idle here, and slots that have no lane.
  FreeLanes free_lanes(int most);
  /// Collective, where a lane has to be made: if `all`, what is free on all ranks, has none.
  /// `why`: what keeps the ranks of a node from sharing memory in it.
  std::unique_ptr<Lane> take(MPI_Comm user, int most, const FreeLanes& all, std::string& why);
  /// Makes the lane idle, to be taken again. Only after all ranks have agreed that its file is
  /// closed or was not opened (invariant 2).
  void give_back(std::unique_ptr<Lane> lane) noexcept;
  /// Where other ranks may not have agreed to that: no file gets the lane again, and its duplicate
  /// is not freed.
  void retire(std::unique_ptr<Lane> lane) noexcept;

 private:
  struct LaneSlot {
    bool busy = false;
    std::unique_ptr<Lane> idle;
  };

  Group();
  void release() noexcept;
  std::unique_ptr<Lane> make_lane(MPI_Comm user, int most, std::string& why);
  static void free_lane(Lane& lane) noexcept;

  Endpoint entrance_;
  std::string why_no_team_;
  MPI_Comm home_ = MPI_COMM_NULL;  // the first duplicate, until a lane has it
  std::mutex opening_;
  std::mutex mutex_;  // of what follows
  std::array<LaneSlot, slots> slots_;
  bool left_alone_ = false;  // this rank has let go of a file without the others
};

}  // namespace penstock
