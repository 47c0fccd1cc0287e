// Communicator: a private duplicate of the user's, or this process alone without MPI. Everything
// that differs between MPI implementations stays in this room.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mpi/call.hpp"
#include "mpi/team.hpp"

namespace penstock {

class Communicator {
 public:
  /// This process alone; MPI is never called.
  Communicator() = default;
  /// Not collective. Throws Error(argument) for what is no intra-communicator.
  explicit Communicator(MPI_Comm comm);
  /// Collective: makes the duplicate. Before, only rank() and size() may be called.
  void connect();
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) = delete;
  ~Communicator() { release(); }
  /// Gives the duplicate back. Afterwards only rank() and size() may be called.
  void release() noexcept;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  bool alone() const noexcept { return size_ == 1; }
  /// Made of no communicator; of MPI_COMM_SELF.
  bool is_null() const noexcept { return user_ == MPI_COMM_NULL; }
  bool is_self() const noexcept;
  MPI_Comm handle() const noexcept { return comm_; }
  /// Collective: lets the ranks of each node work through common memory. `most`: ranks of a team
  /// at most, 0 for whole nodes. Where that cannot be had, team() stays null on all ranks and the
  /// reason is returned on some.
  std::string form_team(int most);
  Team* team() const noexcept { return team_.get(); }
  /// Ranks that can use a core of their own, summed over the nodes.
  int writers() const noexcept { return writers_; }
  /// Every rank's I/O thread can have a core of its own, too.
  bool idle_cores() const noexcept { return idle_cores_; }

  /// Some ranks did not come, and this one has not waited for them any longer: it cannot meet the
  /// others again.
  void break_off() const noexcept { broken_off_ = true; }
  bool is_broken_off() const noexcept { return broken_off_; }
  /// Throws Error(state) after break_off().
  void check_usable() const;

  void broadcast(std::span<std::byte> bytes, int root) const;
  void barrier() const;

  /// Waits for a request and leaves the core to others meanwhile (wait.hpp): MPI libraries that
  /// spin in MPI_Wait keep a rank with work to do from running wherever ranks outnumber cores.
  static void wait(MPI_Request& request, const char* call,
                   Wait::OutOfPatience then = Wait::OutOfPatience::aborts);

  /// Throws Error(internal) with the MPI library's words unless `code` is MPI_SUCCESS.
  static void check(int code, const char* call);

 private:
  static int cores() noexcept;
  MPI_Comm user_ = MPI_COMM_NULL, comm_ = MPI_COMM_NULL;
  std::unique_ptr<Team> team_;
  int rank_ = 0, size_ = 1, writers_ = 1;
  bool idle_cores_ = cores() > 1;
  mutable bool broken_off_ = false;
};

struct Letter {
  int rank;
  std::vector<std::int64_t> words;
};

/// Sparse exchange: each rank sends its letters, knowing nothing of who writes to it, and gets
/// those addressed to it, in rank order. Costs messages only between those who talk, and one
/// barrier (Hoefler, Siebert, Lumsdaine: non-blocking consensus, PPoPP 2010). A letter to oneself
/// is delivered too. `tag` must differ between two exchanges in a row.
std::vector<Letter> deliver(const Communicator& comm, const std::vector<Letter>& letters, int tag);

}  // namespace penstock
