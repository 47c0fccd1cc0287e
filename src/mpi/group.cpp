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

/// A duplicate that the user makes has a group of its own: the attribute is not copied.
int attribute_key() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    Communicator::check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &let_go, &made, nullptr),
                        "MPI_Comm_create_keyval");
    return made;
  }();
  return key;
}

/// MPI_Comm_idup and not MPI_Comm_dup, which spins for as long as a rank does not come.
MPI_Comm duplicate(MPI_Comm user) {
  // A wait that ends with an error leaves the request to MPI: the memory must stay.
  auto made = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
  MPI_Request request = MPI_REQUEST_NULL;
  Communicator::check(MPI_Comm_idup(user, made.get(), &request), "MPI_Comm_idup");
  MPI_Comm* const lent = made.release();
  Communicator::wait(request, "MPI_Comm_idup", Wait::OutOfPatience::throws);
  made.reset(lent);
  // The user's handler may abort the program; errors here become exceptions on every rank.
  Communicator::check(MPI_Comm_set_errhandler(*made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return *made;
}

/// Where other ranks have given up waiting while the duplicate was made, they never come to a
/// collective call on it. A blocking call would then spin without end; this wait reports them, and
/// ends where PENSTOCK_PATIENCE asks for an error.
void wait_for_all(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  Communicator::check(MPI_Ibarrier(comm, &request), "MPI_Ibarrier");
  Communicator::wait(request, "MPI_Ibarrier", Wait::OutOfPatience::throws);
}

std::mutex& groups_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// In the order in which they were made: freeing is collective, and all ranks have that order
/// unless threads have made them. Never destroyed: a group may live longer.
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
  if (entrance_.comm != MPI_COMM_NULL) return;
  const InCall* const in = InCall::current();
  const presence::Opening opening(in != nullptr ? in->path() : std::string());
  home_ = entrance_.comm = duplicate(user);
  try {
    wait_for_all(home_);
    entrance_.transport = make_mpi_transport(home_);
    entrance_.team = Team::of_nodes(home_, why_no_team_);
  } catch (...) {
    release();
    throw;
  }
}

void Group::release_all() noexcept {
  const std::lock_guard guard(groups_mutex());
  for (Group* const group : groups()) {
    if (Team* const team = group->entrance_.team.get()) team->leave(team->own_member());
    group->release();
  }
}

void Group::show_refusal() noexcept {
  presence::show_refusal();
  const std::lock_guard guard(groups_mutex());
  for (Group* const group : groups())
    if (Team* const team = group->entrance_.team.get())
      team->own_mailbox().last_call.store(Call{CallKind::open_alone}.code());
}

/// Lanes of open files are not freed here. Freeing a communicator is collective: where this rank
/// has let go of a file by itself, other ranks may not free theirs, and none is freed.
void Group::release() noexcept {
  const std::lock_guard guard(mutex_);
  if (Communicator::mpi_is_running() && !left_alone_) {
    for (LaneSlot& slot : slots_)
      if (slot.idle) free_lane(*slot.idle);
    if (home_ != MPI_COMM_NULL && !entrance_.broken_off) MPI_Comm_free(&home_);
  }
  for (LaneSlot& slot : slots_) slot.idle.reset();
  home_ = entrance_.comm = MPI_COMM_NULL;
}

FreeLanes Group::free_lanes(int most) {
  const std::lock_guard guard(mutex_);
  FreeLanes lanes{0, 0};
  for (int i = 0; i < slots; ++i) {
    const LaneSlot& slot = slots_[static_cast<std::size_t>(i)];
    if (slot.idle && slot.idle->most == most) lanes.idle |= bit(i);
    if (!slot.idle && !slot.busy) lanes.vacant |= bit(i);
  }
  return lanes;
}

std::unique_ptr<Lane> Group::take(MPI_Comm user, int most, const FreeLanes& all, std::string& why) {
  const std::uint64_t from = all.idle != 0 ? all.idle : all.vacant;
  const int number = from != 0 ? std::countr_zero(from) : -1;
  if (all.idle != 0) {
    const std::lock_guard guard(mutex_);
    LaneSlot& slot = slots_[static_cast<std::size_t>(number)];
    slot.busy = true;
    return std::move(slot.idle);
  }
  std::unique_ptr<Lane> lane = make_lane(user, most, why);
  lane->slot = number;
  if (number < 0) return lane;
  const std::lock_guard guard(mutex_);
  slots_[static_cast<std::size_t>(number)].busy = true;
  return lane;
}

std::unique_ptr<Lane> Group::make_lane(MPI_Comm user, int most, std::string& why) {
  auto lane = std::make_unique<Lane>();
  lane->most = most;
  Team* const whole = entrance_.team.get();
  // The first lane takes over the entrance's duplicate, and one duplicate less is made. Not where
  // ranks exchange messages at the entrance, which then needs it for itself.
  const bool by_memory = whole != nullptr && whole->nodes() == 1;
  lane->comm =
      by_memory && home_ != MPI_COMM_NULL ? std::exchange(home_, MPI_COMM_NULL) : duplicate(user);
  lane->transport = make_mpi_transport(lane->comm);
  why = why_no_team_;
  if (whole != nullptr) lane->team = drive(*whole, whole->make_another(most, why));
  const Team* const team = lane->team.get();
  // Without a team it is not known which ranks share a node, and it is assumed that each has a node
  // of its own.
  const int mine[3] = {team == nullptr || team->rank() < team->cores() ? 1 : 0,
                       team != nullptr && 2 * team->size() <= team->cores() ? 0 : 1,
                       team == nullptr ? 1 : 0};
  int sums[3] = {};
  MPI_Request request = MPI_REQUEST_NULL;
  Communicator::check(MPI_Iallreduce(mine, sums, 3, MPI_INT, MPI_SUM, lane->comm, &request),
                      "MPI_Iallreduce");
  Communicator::wait(request, "MPI_Iallreduce");
  lane->writers = sums[0];
  lane->idle_cores = sums[1] == 0;
  if (sums[2] > 0) {
    if (team != nullptr) why = "another node cannot";
    lane->team.reset();
    MPI_Comm_size(lane->comm, &lane->writers);
  }
  return lane;
}

void Group::free_lane(Lane& lane) noexcept {
  MPI_Comm_free(&lane.comm);
}

void Group::give_back(std::unique_ptr<Lane> lane) noexcept {
  if (lane->team) lane->team->clear_own_mailbox();
  if (lane->slot < 0) {
    if (Communicator::mpi_is_running()) free_lane(*lane);
    return;
  }
  const std::lock_guard guard(mutex_);
  LaneSlot& slot = slots_[static_cast<std::size_t>(lane->slot)];
  slot.busy = false;
  slot.idle = std::move(lane);
}

void Group::retire(std::unique_ptr<Lane> lane) noexcept {
  const std::lock_guard guard(mutex_);
  left_alone_ = true;
  if (lane->slot < 0) return;
  slots_[static_cast<std::size_t>(lane->slot)].busy = false;
}

}  // namespace penstock
