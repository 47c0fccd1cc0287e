// Communicator: one file's use of the user's communicator, or a single process. All differences
// between MPI implementations are confined to this module.
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

/// Ranks first meet at the opening endpoint of their group, where they agree on the file endpoint
/// that they use from then on. A single process needs neither, and MPI is never called for it.
class Communicator {
 public:
  /// Without an MPI communicator: a single process.
  Communicator() = default;
  /// Not collective. Throws Error(argument) unless it is an intra-communicator.
  explicit Communicator(MPI_Comm comm);
  /// For tests and simulations: ranks that are not MPI processes, and their endpoint.
  Communicator(int rank, int size, std::unique_ptr<FileEndpoint> endpoint);
  /// Collective: connects to the opening endpoint. Before that, only rank() and size() may be
  /// called.
  void connect();
  /// At the opening endpoint: the endpoints for this `most` that are free on this rank.
  FreeEndpoints free_endpoints(int most) const;
  /// Collective: switches to a file endpoint, one that is free on all ranks. `most`: the maximal
  /// ranks of a team, 0 for whole nodes. If memory cannot be shared, team() is null on all ranks
  /// from then on, and the reason is returned if the endpoint is new.
  std::string take_endpoint(const FreeEndpoints& all, int most);
  Communicator(Communicator&&) = default;
  Communicator& operator=(Communicator&&) = delete;
  ~Communicator();
  /// All ranks have agreed to end here: the endpoint may be reused. Afterwards only rank() and
  /// size() may be called.
  void release() noexcept;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  bool alone() const noexcept { return size_ == 1; }
  /// Without an MPI communicator; on MPI_COMM_SELF.
  bool is_null() const noexcept { return user_ == MPI_COMM_NULL; }
  bool is_self() const noexcept;
  /// Its ranks, as ranks of MPI_COMM_WORLD.
  std::vector<int> world_ranks() const;
  MPI_Comm handle() const noexcept {
    return endpoint_ != nullptr ? endpoint_->comm : MPI_COMM_NULL;
  }
  /// Null if ranks of a node cannot share memory.
  Team* team() const noexcept { return endpoint_ != nullptr ? endpoint_->team.get() : nullptr; }
  /// The reason, at the opening endpoint; empty if there is none.
  const std::string& why_no_team() const noexcept { return group_->why_no_team(); }
  /// Ranks that can use a core of their own, summed over the nodes.
  int writers() const noexcept { return endpoint_ != nullptr ? endpoint_->writers : 1; }
  /// Whether every rank's I/O thread can have a core of its own, too.
  bool idle_cores() const noexcept;
  /// Collective calls of earlier files on this endpoint.
  std::int64_t calls() const noexcept { return file_endpoint_ ? file_endpoint_->calls : 0; }
  void set_calls(std::int64_t calls) noexcept {
    if (file_endpoint_) file_endpoint_->calls = calls;
  }
  static constexpr int different_calls = 1024;  // distinguished by tags; tags are reused after that

  /// Some ranks did not come, and this one has stopped waiting: it cannot meet the others here
  /// again.
  void break_off() const noexcept {
    if (endpoint_ != nullptr) endpoint_->broken_off = true;
  }
  bool is_broken_off() const noexcept { return endpoint_ != nullptr && endpoint_->broken_off; }
  /// Throws Error(state) after break_off().
  void check_usable() const;
  /// For a rank that will not come to a call of `path`. Breaks off.
  [[noreturn]] void throw_gone(int rank, const std::string& path) const;

  /// The event that this rank sleeps on, see drive.hpp.
  Event& event() const noexcept {
    return team() != nullptr ? team()->own_mailbox().event : *event_;
  }
  bool crowded() const noexcept { return team() != nullptr && team()->crowded(); }
  /// Messages to the other ranks. Not for a single process.
  Transport& transport() const noexcept { return *endpoint_->transport; }
  /// Lets MPI send what it has buffered.
  void let_work() const noexcept {
    if (endpoint_ != nullptr && endpoint_->transport) endpoint_->transport->work();
  }

  /// Waits for a request without occupying the core (wait.hpp): MPI libraries that spin in MPI_Wait
  /// delay ranks with work to do if ranks outnumber cores.
  static void wait(MPI_Request& request, const char* call,
                   Wait::OutOfPatience then = Wait::OutOfPatience::aborts);

  /// Throws Error(internal) with the MPI library's error text unless `code` is MPI_SUCCESS.
  static void check(int code, const char* call);
  /// False in a child that was forked while MPI ran: MPI is its parent's.
  static bool mpi_is_running() noexcept;
  static bool is_forked_from_mpi() noexcept;

 private:
  MPI_Comm user_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::shared_ptr<Group> group_;  // null: a single process
  std::unique_lock<std::mutex> opening_;
  std::unique_ptr<FileEndpoint> file_endpoint_;
  Endpoint* endpoint_ = nullptr;  // the opening endpoint, then the file's
  std::unique_ptr<Event> event_ = std::make_unique<Event>();  // used if there is no team
};

}  // namespace penstock
