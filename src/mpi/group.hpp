// Group: what the files of one communicator share, created at the first open and kept with the
// user's communicator (as an attribute) until that is freed or MPI ends.
//
//   opening endpoint  where all ranks meet to open a file: the team of whole nodes
//   file endpoints    where the ranks of one open file meet: a duplicate, and a team of its own
//
// Open files do not share an endpoint: operations of different files may be in threads, whose order
// differs between ranks. A file takes the lowest endpoint that is idle on all ranks, and its
// collective close gives it back. So files that are opened one after the other need one duplicate
// and one team.
//
// Invariants:
//   1. A slot gets an endpoint only if it is vacant on all ranks, and then on all of them. So an
//      idle endpoint of a slot is the same on all ranks.
//   2. An endpoint becomes idle only after all ranks have agreed that its file is closed, or was
//      not opened. Otherwise (a rank has abandoned its file, or has stopped waiting) no rank uses
//      it again, and its duplicate is not freed: messages may be in flight there.
//   3. Between two files of one endpoint all ranks have met at the opening endpoint. So no rank
//      still reads what another one did for the previous file.
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

/// What a rank needs to meet the others: a communicator, a transport and a team.
struct Endpoint {
  MPI_Comm comm = MPI_COMM_NULL;
  std::unique_ptr<Transport> transport;  // null: ranks never exchange messages here
  std::unique_ptr<Team> team;            // null: ranks of a node cannot share memory
  int writers = 1;          // ranks that can use a core of their own, summed over the nodes
  bool idle_cores = false;  // every rank's I/O thread can have a core of its own, too
  bool broken_off = false;  // this rank will not meet the others here again
};

/// Where the ranks of an open file meet.
struct FileEndpoint : Endpoint {
  int slot = -1;           // of the group; -1: none, made for one file
  int most = 0;            // maximal ranks of a team; 0: whole nodes
  std::int64_t calls = 0;  // collective calls of its files so far
};

/// Slots of a group with an idle endpoint, and slots without one, as one bit per slot: of one rank,
/// or the intersection of all ranks.
struct FreeEndpoints {
  std::uint64_t idle = ~std::uint64_t{0}, vacant = ~std::uint64_t{0};
};

class Group {
 public:
  static constexpr int slots = 64;

  /// The group of the user's communicator. Not collective.
  static std::shared_ptr<Group> of(MPI_Comm user);
  /// Collective, if it has no opening endpoint yet. With opening() held: several threads may come.
  void form(MPI_Comm user);
  /// Before MPI ends. Ranks of the node that wait in an open learn that this one will not come.
  static void release_all() noexcept;
  /// Shows the other ranks of the node that this one was refused to open a file without a
  /// communicator.
  static void show_refusal() noexcept;
  Group(const Group&) = delete;
  ~Group();

  Endpoint& opening_endpoint() noexcept { return opening_endpoint_; }
  const std::string& why_no_team() const noexcept { return why_no_team_; }
  /// Held while a file is opened.
  std::mutex& opening() noexcept { return opening_; }

  /// Endpoints for this `most` that are idle here, and slots without an endpoint.
  FreeEndpoints free_endpoints(int most);
  /// Collective if an endpoint has to be made, because `all`, those free on all ranks, has none.
  /// `why`: why the ranks of a node cannot share memory in it.
  std::unique_ptr<FileEndpoint> take(MPI_Comm user, int most, const FreeEndpoints& all,
                                     std::string& why);
  /// Makes the endpoint idle, to be reused. Only after all ranks have agreed that its file is
  /// closed or was not opened (invariant 2).
  void give_back(std::unique_ptr<FileEndpoint> endpoint) noexcept;
  /// If other ranks may not have agreed to that: no file gets the endpoint again, and its duplicate
  /// is not freed.
  void retire(std::unique_ptr<FileEndpoint> endpoint) noexcept;

 private:
  struct Slot {
    bool busy = false;
    std::unique_ptr<FileEndpoint> idle;
  };

  Group();
  void release() noexcept;
  std::unique_ptr<FileEndpoint> make_endpoint(MPI_Comm user, int most, std::string& why);
  static void free_endpoint(FileEndpoint& endpoint) noexcept;

  Endpoint opening_endpoint_;
  std::string why_no_team_;
  MPI_Comm home_ = MPI_COMM_NULL;  // the first duplicate, until a file endpoint takes it
  std::mutex opening_;
  std::mutex mutex_;  // guards the rest
  std::array<Slot, slots> slots_;
  bool left_alone_ = false;  // this rank has abandoned a file
};

}  // namespace penstock
