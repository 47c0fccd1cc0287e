#include "mpi/group.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/drive.hpp"
#include "mpi/presence.hpp"

namespace penstock {
namespace {

using GroupHandle = std::shared_ptr<Group>;

int let_go(MPI_Comm, int, void* value, void*) {
  delete static_cast<GroupHandle*>(value);
  return MPI_SUCCESS;
}

/// A duplicate made by the user has a group of its own: the attribute is not copied.
int attribute_key() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    Communicator::check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &let_go, &made, nullptr),
                        "MPI_Comm_create_keyval");
    return made;
  }();
  return key;
}

/// MPI_Comm_idup and not MPI_Comm_dup, which spins while a rank does not come.
MPI_Comm duplicate(MPI_Comm user) {
  // If the wait ends with an error, MPI keeps the request: the memory must stay.
  auto made = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
  MPI_Request request = MPI_REQUEST_NULL;
  Communicator::check(MPI_Comm_idup(user, made.get(), &request), "MPI_Comm_idup");
  MPI_Comm* const lent = made.release();
  Communicator::wait(request, "MPI_Comm_idup", Wait::OutOfPatience::throws);
  made.reset(lent);
  // The user's handler may abort the program; here errors become exceptions on every rank.
  Communicator::check(MPI_Comm_set_errhandler(*made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return *made;
}

/// If other ranks have stopped waiting while the duplicate was made, they never come to a
/// collective call on it. A blocking call would then spin for ever; this wait reports them, and
/// throws if PENSTOCK_PATIENCE asks for an error.
void wait_for_all(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  Communicator::check(MPI_Ibarrier(comm, &request), "MPI_Ibarrier");
  Communicator::wait(request, "MPI_Ibarrier", Wait::OutOfPatience::throws);
}

std::mutex& groups_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// In order of creation: freeing is collective, and the order is the same on all ranks unless
/// threads have made groups. Never destroyed: a group may outlive static objects.
std::vector<Group*>& groups() {
  static auto* const all = new std::vector<Group*>;
  return *all;
}

constexpr std::uint64_t bit(int slot) {
  return std::uint64_t{1} << slot;
}

}  // namespace

Group::Group() {
  const std::lock_guard guard(groups_mutex());
  groups().push_back(this);
}

Group::~Group() {
  {
    const std::lock_guard guard(groups_mutex());
    std::erase(groups(), this);
  }
  release();
}

std::shared_ptr<Group> Group::of(MPI_Comm user) {
  static std::mutex mutex;
  const std::lock_guard guard(mutex);
  void* found = nullptr;
  int there = 0;
  Communicator::check(MPI_Comm_get_attr(user, attribute_key(), static_cast<void*>(&found), &there),
                      "MPI_Comm_get_attr");
  if (there) return *static_cast<GroupHandle*>(found);
  auto held = std::make_unique<GroupHandle>(new Group);
  Communicator::check(MPI_Comm_set_attr(user, attribute_key(), held.get()), "MPI_Comm_set_attr");
  return *held.release();
}

void Group::form(MPI_Comm user) {
  if (opening_endpoint_.comm != MPI_COMM_NULL) return;
  const InCall* const in = InCall::current();
  const presence::Opening opening(in != nullptr ? in->path() : std::string());
  home_ = opening_endpoint_.comm = duplicate(user);
  try {
    wait_for_all(home_);
    opening_endpoint_.transport = make_mpi_transport(home_);
    opening_endpoint_.team = Team::of_nodes(home_, why_no_team_);
  } catch (...) {
    release();
    throw;
  }
}

void Group::release_all() noexcept {
  const std::lock_guard guard(groups_mutex());
  for (Group* const group : groups()) {
    if (Team* const team = group->opening_endpoint_.team.get()) team->leave(team->own_member());
    group->release();
  }
}

void Group::show_refusal() noexcept {
  presence::show_refusal();
  const std::lock_guard guard(groups_mutex());
  for (Group* const group : groups())
    if (Team* const team = group->opening_endpoint_.team.get())
      team->own_mailbox().last_call.store(Call{CallKind::open_alone}.code());
}

/// Endpoints of open files are not freed here. Freeing a communicator is collective: if this rank
/// has abandoned a file, other ranks may not free theirs, so none is freed.
void Group::release() noexcept {
  const std::lock_guard guard(mutex_);
  if (Communicator::mpi_is_running() && !left_alone_) {
    for (Slot& slot : slots_)
      if (slot.idle) free_endpoint(*slot.idle);
    if (home_ != MPI_COMM_NULL && !opening_endpoint_.broken_off) MPI_Comm_free(&home_);
  }
  for (Slot& slot : slots_) slot.idle.reset();
  home_ = opening_endpoint_.comm = MPI_COMM_NULL;
}

FreeEndpoints Group::free_endpoints(int most) {
  const std::lock_guard guard(mutex_);
  FreeEndpoints endpoints{0, 0};
  for (int i = 0; i < slots; ++i) {
    const Slot& slot = slots_[static_cast<std::size_t>(i)];
    if (slot.idle && slot.idle->most == most) endpoints.idle |= bit(i);
    if (!slot.idle && !slot.busy) endpoints.vacant |= bit(i);
  }
  return endpoints;
}

std::unique_ptr<FileEndpoint> Group::take(MPI_Comm user, int most, const FreeEndpoints& all,
                                          std::string& why) {
  const std::uint64_t from = all.idle != 0 ? all.idle : all.vacant;
  const int number = from != 0 ? std::countr_zero(from) : -1;
  if (all.idle != 0) {
    const std::lock_guard guard(mutex_);
    Slot& slot = slots_[static_cast<std::size_t>(number)];
    slot.busy = true;
    return std::move(slot.idle);
  }
  std::unique_ptr<FileEndpoint> endpoint = make_endpoint(user, most, why);
  endpoint->slot = number;
  if (number < 0) return endpoint;
  const std::lock_guard guard(mutex_);
  slots_[static_cast<std::size_t>(number)].busy = true;
  return endpoint;
}

std::unique_ptr<FileEndpoint> Group::make_endpoint(MPI_Comm user, int most, std::string& why) {
  auto endpoint = std::make_unique<FileEndpoint>();
  endpoint->most = most;
  Team* const whole = opening_endpoint_.team.get();
  // The first file endpoint takes over the opening endpoint's duplicate, which saves making one.
  // Not if ranks exchange messages at the opening endpoint, which then needs it.
  const bool by_memory = whole != nullptr && whole->nodes() == 1;
  endpoint->comm =
      by_memory && home_ != MPI_COMM_NULL ? std::exchange(home_, MPI_COMM_NULL) : duplicate(user);
  endpoint->transport = make_mpi_transport(endpoint->comm);
  why = why_no_team_;
  if (whole != nullptr) endpoint->team = drive(*whole, whole->make_another(most, why));
  const Team* const team = endpoint->team.get();
  // Without a team it is unknown which ranks share a node; each is assumed to have its own.
  const int mine[3] = {team == nullptr || team->rank() < team->cores() ? 1 : 0,
                       team != nullptr && 2 * team->size() <= team->cores() ? 0 : 1,
                       team == nullptr ? 1 : 0};
  int sums[3] = {};
  MPI_Request request = MPI_REQUEST_NULL;
  Communicator::check(MPI_Iallreduce(mine, sums, 3, MPI_INT, MPI_SUM, endpoint->comm, &request),
                      "MPI_Iallreduce");
  Communicator::wait(request, "MPI_Iallreduce");
  endpoint->writers = sums[0];
  endpoint->idle_cores = sums[1] == 0;
  if (sums[2] > 0) {
    if (team != nullptr) why = "another node cannot";
    endpoint->team.reset();
    MPI_Comm_size(endpoint->comm, &endpoint->writers);
  }
  return endpoint;
}

void Group::free_endpoint(FileEndpoint& endpoint) noexcept {
  MPI_Comm_free(&endpoint.comm);
}

void Group::give_back(std::unique_ptr<FileEndpoint> endpoint) noexcept {
  if (endpoint->team) endpoint->team->clear_own_mailbox();
  if (endpoint->slot < 0) {
    if (Communicator::mpi_is_running()) free_endpoint(*endpoint);
    return;
  }
  const std::lock_guard guard(mutex_);
  Slot& slot = slots_[static_cast<std::size_t>(endpoint->slot)];
  slot.busy = false;
  slot.idle = std::move(endpoint);
}

void Group::retire(std::unique_ptr<FileEndpoint> endpoint) noexcept {
  const std::lock_guard guard(mutex_);
  left_alone_ = true;
  if (endpoint->slot < 0) return;
  slots_[static_cast<std::size_t>(endpoint->slot)].busy = false;
}

}  // namespace penstock
