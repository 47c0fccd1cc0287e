// Communicator: what one file has of the user's communicator, or this process alone. Everything
// that differs between MPI implementations stays in this module.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mpi/call.hpp"
#include "mpi/group.hpp"
#include "mpi/team.hpp"

namespace penstock {

/// Ranks meet at the entrance of their group first; there they agree on the lane of the group where
/// they meet from then on. A process alone needs neither, and MPI is never called for it.
class Communicator {
 public:
  /// Made of no communicator: this process alone.
  Communicator() = default;
  /// Not collective. Throws Error(argument) for what is no intra-communicator.
  explicit Communicator(MPI_Comm comm);
  /// For tests and simulations: ranks that are no processes of MPI, and where they meet.
  Communicator(int rank, int size, std::unique_ptr<Lane> lane);
  /// Collective: to the entrance. Before, only rank() and size() may be called.
  void connect();
  /// At the entrance: the lanes that are free on this rank, of those made for this `most`.
  FreeLanes free_lanes(int most) const;
  /// Collective: to a lane, of those that are free on all ranks. `most`: ranks of a team at most,
  /// 0 for whole nodes. Where memory cannot be shared, team() is null there on all ranks, and the
  /// reason is returned when the lane is new.
  std::string take_lane(const FreeLanes& all, int most);
  Communicator(Communicator&&) = default;
  Communicator& operator=(Communicator&&) = delete;
  ~Communicator();
  /// All ranks have agreed that this is the end: others may have the lane. Afterwards only rank()
  /// and size() may be called.
  void release() noexcept;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  bool alone() const noexcept { return size_ == 1; }
  /// Made of no communicator; of MPI_COMM_SELF.
  bool is_null() const noexcept { return user_ == MPI_COMM_NULL; }
  bool is_self() const noexcept;
  /// Of its ranks those in MPI_COMM_WORLD.
  std::vector<int> world_ranks() const;
  MPI_Comm handle() const noexcept {
    return endpoint_ != nullptr ? endpoint_->comm : MPI_COMM_NULL;
  }
  /// Null where ranks of a node cannot share memory.
  Team* team() const noexcept { return endpoint_ != nullptr ? endpoint_->team.get() : nullptr; }
  /// What keeps them from it, at the entrance; empty where nothing does.
  const std::string& why_no_team() const noexcept { return group_->why_no_team(); }
  /// Ranks that can use a core of their own, summed over the nodes.
  int writers() const noexcept { return endpoint_ != nullptr ? endpoint_->writers : 1; }
  /// Every rank's I/O thread can have a core of its own, too.
  bool idle_cores() const noexcept;
  /// Collective calls of the files before in this lane.
  std::int64_t calls() const noexcept { return lane_ ? lane_->calls : 0; }
  void set_calls(std::int64_t calls) noexcept {
    if (lane_) lane_->calls = calls;
  }
  static constexpr int different_calls = 1024;  // that tags tell apart; then they are used again

  /// Some ranks did not come, and this one has not waited for them any longer: it cannot meet the
  /// others here again.
  void break_off() const noexcept {
    if (endpoint_ != nullptr) endpoint_->broken_off = true;
  }
  bool is_broken_off() const noexcept { return endpoint_ != nullptr && endpoint_->broken_off; }
  /// Throws Error(state) after break_off().
  void check_usable() const;
  /// One rank will not come to a call of `path`. Breaks off.
  [[noreturn]] void throw_gone(int rank, const std::string& path) const;

  /// What this rank sleeps on, see drive.hpp.
  Bell& bell() const noexcept { return team() != nullptr ? team()->own_mailbox().bell : *bell_; }
  bool crowded() const noexcept { return team() != nullptr && team()->crowded(); }
  /// Messages to the others. Not of a process alone.
  Transport& transport() const noexcept { return *endpoint_->transport; }
  /// Lets MPI send what it still holds.
  void let_work() const noexcept {
    if (endpoint_ != nullptr && endpoint_->transport) endpoint_->transport->work();
  }

  /// Waits for a request and leaves the core to others meanwhile (wait.hpp): MPI libraries that
  /// spin in MPI_Wait keep a rank with work to do from running wherever ranks outnumber cores.
  static void wait(MPI_Request& request, const char* call,
                   Wait::OutOfPatience then = Wait::OutOfPatience::aborts);

  /// Throws Error(internal) with the MPI library's words unless `code` is MPI_SUCCESS.
  static void check(int code, const char* call);
  /// Not in a child that was forked while MPI ran: it is its parent's.
  static bool mpi_is_running() noexcept;
  static bool is_forked_from_mpi() noexcept;

 private:
  MPI_Comm user_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::shared_ptr<Group> group_;  // null: alone
  std::unique_lock<std::mutex> opening_;
  std::unique_ptr<Lane> lane_;
  Endpoint* endpoint_ = nullptr;                           // the entrance's, then the lane
  std::unique_ptr<Bell> bell_ = std::make_unique<Bell>();  // where there is no team
};

}  // namespace penstock
