#include "mpi/team.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include <climits>
#include <thread>

#include "mpi/communicator.hpp"

namespace penstock {
namespace {

using Word = std::atomic<std::uint32_t>;
static_assert(Word::is_always_lock_free, "shared between processes");

/// Futexes between processes: not the PRIVATE kind. Returning early is always allowed.
void futex_wait(Word& word, std::uint32_t value) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, nullptr, nullptr, 0);
}
void futex_wait_a_little(Word& word, std::uint32_t value) noexcept {
  const timespec millisecond{0, 1'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &millisecond, nullptr, 0);
}
void futex_wake(Word& word, int count) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

int own_cores() {
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

/// About 10 microseconds: what going to sleep and being woken costs.
constexpr int patience = 400;

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

struct Team::Common {
  alignas(64) Word arrived;
  alignas(64) Word meeting;
  alignas(64) Word permits_out;
  Word waiting;  // for one, in take_permit
  alignas(64) Word copying;
  alignas(64) Word gone;  // 1 + the first rank that has left
  alignas(64) std::byte result[note_bytes];
};

std::unique_ptr<Team> Team::form(MPI_Comm comm, int most, std::string& why) {
  std::unique_ptr<Team> team(new Team);
  team->split(comm, most);
  int comm_size = 0;
  MPI_Comm_size(comm, &comm_size);
  const std::int64_t bytes = static_cast<std::int64_t>(sizeof(Common)) +
                             team->size_ * static_cast<std::int64_t>(sizeof(Desk)) +
                             (4 * comm_size + 1) * static_cast<std::int64_t>(sizeof(std::int32_t));
  team->segment_ = SharedSegment::make(team->node_comm_, bytes, why);
  int works = team->segment_ ? 1 : 0, all_work = 0;
  Communicator::check(MPI_Allreduce(&works, &all_work, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
  if (!all_work) {
    if (works) why = "another node cannot";
    team->release();
    return nullptr;
  }
  team->lay_out(comm_size);
  team->tell_nodes(comm);
  return team;
}

Team::~Team() {
  release();
}

void Team::release(bool keep) noexcept {
  int finalized = 1;
  MPI_Finalized(&finalized);
  if (!finalized && !keep) {
    if (node_comm_ != MPI_COMM_NULL) MPI_Comm_free(&node_comm_);
    if (leaders_ != MPI_COMM_NULL) MPI_Comm_free(&leaders_);
  }
  node_comm_ = leaders_ = MPI_COMM_NULL;
}

void Team::split(MPI_Comm comm, int most) {
  int comm_rank = 0;
  MPI_Comm_rank(comm, &comm_rank);
  Communicator::check(
      MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, comm_rank, MPI_INFO_NULL, &node_comm_),
      "MPI_Comm_split_type");
  MPI_Comm_rank(node_comm_, &rank_);
  if (most > 0) {
    MPI_Comm whole = node_comm_;
    Communicator::check(MPI_Comm_split(whole, rank_ / most, rank_, &node_comm_), "MPI_Comm_split");
    MPI_Comm_free(&whole);
    MPI_Comm_rank(node_comm_, &rank_);
  }
  MPI_Comm_size(node_comm_, &size_);
  Communicator::check(MPI_Comm_split(comm, rank_ == 0 ? 0 : MPI_UNDEFINED, comm_rank, &leaders_),
                      "MPI_Comm_split");
  if (leaders_ != MPI_COMM_NULL) {
    MPI_Comm_set_errhandler(leaders_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(leaders_, &node_);
    MPI_Comm_size(leaders_, &nodes_);
  }
  MPI_Comm_set_errhandler(node_comm_, MPI_ERRORS_RETURN);
  int node_and_nodes[2] = {node_, nodes_};
  Communicator::check(MPI_Bcast(node_and_nodes, 2, MPI_INT, 0, node_comm_), "MPI_Bcast");
  node_ = node_and_nodes[0];
  nodes_ = node_and_nodes[1];
  members_.resize(static_cast<std::size_t>(size_));
  Communicator::check(
      MPI_Allgather(&comm_rank, 1, MPI_INT, members_.data(), 1, MPI_INT, node_comm_),
      "MPI_Allgather");
  crowded_ = size_ > own_cores();
}

void Team::lay_out(int comm_size) {
  std::byte* at = segment_.data();
  common_ = reinterpret_cast<Common*>(at);  // zeroed memory is a valid start for all of it
  at += sizeof(Common);
  desks_ = reinterpret_cast<Desk*>(at);
  at += static_cast<std::size_t>(size_) * sizeof(Desk);
  node_of_ = reinterpret_cast<std::int32_t*>(at);
  place_of_ = node_of_ + comm_size;
  start_of_ = place_of_ + comm_size;
  by_node_ = start_of_ + comm_size + 1;
  own_desk().process = ::getpid();
}

/// Where every rank lives: one table per node, not per rank.
void Team::tell_nodes(MPI_Comm comm) {
  int comm_size = 0;
  MPI_Comm_size(comm, &comm_size);
  std::vector<int> all;
  const int mine[2] = {node_, rank_};
  // Everybody sends to rank 0 of the communicator, whose table the leaders pass on.
  int comm_rank = 0;
  MPI_Comm_rank(comm, &comm_rank);
  if (comm_rank == 0) all.resize(2 * static_cast<std::size_t>(comm_size));
  Communicator::check(
      MPI_Gather(mine, 2, MPI_INT, comm_rank == 0 ? all.data() : nullptr, 2, MPI_INT, 0, comm),
      "MPI_Gather");
  if (leaders_ != MPI_COMM_NULL) {
    all.resize(2 * static_cast<std::size_t>(comm_size));
    Communicator::check(MPI_Bcast(all.data(), 2 * comm_size, MPI_INT, 0, leaders_), "MPI_Bcast");
    for (int r = 0; r < comm_size; ++r) {
      node_of_[r] = all[2 * static_cast<std::size_t>(r)];
      place_of_[r] = all[2 * static_cast<std::size_t>(r) + 1];
      ++start_of_[node_of_[r] + 1];
    }
    for (int node = 0; node < nodes_; ++node) start_of_[node + 1] += start_of_[node];
    for (int r = 0; r < comm_size; ++r) by_node_[start_of_[node_of_[r]] + place_of_[r]] = r;
  }
  meet([] {});
}

std::byte* Team::result() noexcept {
  return common_->result;
}

std::uint32_t Team::this_meeting() const noexcept {
  return common_->meeting.load(std::memory_order_acquire);
}

/// True on the one rank that does the work, once all are here.
bool Team::arrive() {
  const auto everybody = static_cast<std::uint32_t>(size_);
  const bool last = common_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == everybody;
  if (nodes_ == 1) return last;
  if (rank_ != 0) {
    if (last) futex_wake(common_->arrived, 1);
    return false;
  }
  for (Wait wait(Wait::OutOfPatience::throws);;) {
    const std::uint32_t here = common_->arrived.load(std::memory_order_acquire);
    if (here == everybody) return true;
    if (gone() >= 0) return false;
    wait.on(common_->arrived, here);
  }
}

void Team::dismiss(std::uint32_t meeting) noexcept {
  common_->arrived.store(0, std::memory_order_relaxed);
  common_->meeting.store(meeting + 1, std::memory_order_release);
  if (size_ > 1) futex_wake(common_->meeting, INT_MAX);
}

bool Team::await(std::uint32_t meeting) {
  for (int i = 0; !crowded_ && i < patience; ++i, pause())
    if (this_meeting() != meeting) return true;
  for (Wait wait(Wait::OutOfPatience::throws); this_meeting() == meeting;) {
    if (gone() >= 0) return this_meeting() != meeting;
    wait.on(common_->meeting, meeting);
  }
  return true;
}

void Team::leave(int comm_rank) noexcept {
  std::uint32_t nobody = 0;
  common_->gone.compare_exchange_strong(nobody, static_cast<std::uint32_t>(comm_rank) + 1);
  futex_wake(common_->arrived, INT_MAX);
  futex_wake(common_->meeting, INT_MAX);
}

int Team::gone() const noexcept {
  return static_cast<int>(common_->gone.load(std::memory_order_acquire)) - 1;
}

std::uint32_t Team::heard() const noexcept {
  return desks_[rank_].bell.load(std::memory_order_acquire);
}

// Sequentially consistent on both sides: either the ringer sees the sleeper, or the sleeper sees
// that the bell has rung.
void Team::ring(int place) noexcept {
  Desk& desk = desks_[place];
  desk.bell.fetch_add(1, std::memory_order_seq_cst);
  if (desk.asleep.load(std::memory_order_seq_cst) != 0) futex_wake(desk.bell, 1);
}

void Team::sleep(std::uint32_t heard_before, Wait& wait, bool messages) {
  for (int i = 0; !crowded_ && i < patience; ++i, pause())
    if (heard() != heard_before) return;
  Desk& desk = own_desk();
  desk.asleep.store(1, std::memory_order_seq_cst);
  if (desk.bell.load(std::memory_order_seq_cst) == heard_before)
    wait.on(desk.bell, heard_before, messages);
  desk.asleep.store(0, std::memory_order_relaxed);
}

namespace {
bool permit_taken(Word& out, int most) noexcept {
  std::uint32_t now = out.load(std::memory_order_seq_cst);
  while (now < static_cast<std::uint32_t>(most))
    if (out.compare_exchange_weak(now, now + 1, std::memory_order_seq_cst)) return true;
  return false;
}
}  // namespace

void Team::begin_copying() noexcept {
  common_->copying.fetch_add(1, std::memory_order_seq_cst);
}

void Team::end_copying() noexcept {
  if (common_->copying.fetch_sub(1, std::memory_order_seq_cst) == 1)
    futex_wake(common_->copying, INT_MAX);
}

bool Team::await_end_of_copying() noexcept {
  const std::uint32_t ranks = common_->copying.load(std::memory_order_seq_cst);
  if (ranks == 0) return true;
  futex_wait_a_little(common_->copying, ranks);
  return common_->copying.load(std::memory_order_seq_cst) == 0;
}

bool Team::try_permit(int most) noexcept {
  if (permit_taken(common_->permits_out, most)) return true;
  // Say so first, then look again: who returned one meanwhile may not have seen the wish.
  own_desk().wants_permit.store(1, std::memory_order_seq_cst);
  return permit_taken(common_->permits_out, most);
}

void Team::take_permit(int most) noexcept {
  while (!permit_taken(common_->permits_out, most)) {
    const std::uint32_t now = common_->permits_out.load(std::memory_order_seq_cst);
    common_->waiting.fetch_add(1, std::memory_order_seq_cst);
    if (now >= static_cast<std::uint32_t>(most)) futex_wait(common_->permits_out, now);
    common_->waiting.fetch_sub(1, std::memory_order_seq_cst);
  }
}

void Team::return_permit() noexcept {
  common_->permits_out.fetch_sub(1, std::memory_order_seq_cst);
  if (common_->waiting.load(std::memory_order_seq_cst) != 0) futex_wake(common_->permits_out, 1);
  for (int place = 0; place < size_; ++place)
    if (desks_[place].wants_permit.load(std::memory_order_seq_cst) != 0) {
      desks_[place].wants_permit.store(0, std::memory_order_seq_cst);
      if (place != rank_) ring(place);
    }
}

}  // namespace penstock
