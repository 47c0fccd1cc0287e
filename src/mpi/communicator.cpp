#include "mpi/communicator.hpp"

#include <algorithm>
#include <thread>

#include <penstock/error.hpp>

namespace penstock {
namespace {

bool mpi_is_running() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  if (initialized) MPI_Finalized(&finalized);
  return initialized && !finalized;
}

/// While this lives, MPI calls with a bad communicator return an error. What handler MPI asks
/// then, that of MPI_COMM_WORLD or of MPI_COMM_SELF, depends on its version.
class ErrorsReturned {
 public:
  ErrorsReturned() {
    for (int i = 0; i < 2; ++i) {
      MPI_Comm_get_errhandler(comms_[i], &before_[i]);
      MPI_Comm_set_errhandler(comms_[i], MPI_ERRORS_RETURN);
    }
  }
  ErrorsReturned(const ErrorsReturned&) = delete;
  ~ErrorsReturned() {
    for (int i = 0; i < 2; ++i) {
      MPI_Comm_set_errhandler(comms_[i], before_[i]);
      MPI_Errhandler_free(&before_[i]);
    }
  }

 private:
  MPI_Comm comms_[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  MPI_Errhandler before_[2];
};

}  // namespace

void Communicator::check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(ErrorClass::internal,
              std::string(call) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

Communicator::Communicator(MPI_Comm comm) : user_(comm) {
  if (comm == MPI_COMM_NULL)
    throw Error(ErrorClass::argument,
                "communicator: it is MPI_COMM_NULL: it was freed, or this process is not in it");
  if (!mpi_is_running())
    throw Error(
        ErrorClass::argument,
        "communicator: MPI is not initialised or already finalised; call MPI_Init first, or "
        "pass no communicator to work in this process alone");
  int inter = 0;
  {
    const ErrorsReturned guard;
    if (MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS)
      throw Error(ErrorClass::argument,
                  "communicator: MPI says that it is not valid; was it freed?");
  }
  if (inter != 0)
    throw Error(ErrorClass::argument, "communicator: an intra-communicator is needed");
  check(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(comm, &size_), "MPI_Comm_size");
}

/// A rank that never comes must not keep the others spinning: not MPI_Comm_dup.
void Communicator::connect() {
  if (user_ == MPI_COMM_NULL) return;
  // A wait that ends with an error leaves the request to MPI: the memory must stay.
  auto made = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Comm_idup(user_, made.get(), &request), "MPI_Comm_idup");
  MPI_Comm* const lent = made.release();
  wait(request, "MPI_Comm_idup", Wait::OutOfPatience::throws);
  made.reset(lent);
  comm_ = *made;
  // The user's handler may abort the program; errors here become exceptions on every rank.
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

int Communicator::cores() noexcept {
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

bool Communicator::is_self() const noexcept {
  int compared = MPI_UNEQUAL;
  return !is_null() && MPI_Comm_compare(user_, MPI_COMM_SELF, &compared) == MPI_SUCCESS &&
         compared == MPI_IDENT;
}

std::string Communicator::form_team(int most) {
  std::string why;
  if (alone()) return why;
  team_ = Team::form(comm_, most, why);
  if (const InCall* const in = InCall::current()) in->show();
  // Without a team nothing is known of the nodes: take it that every rank has its own.
  const int writes = !team_ || team_->rank() < cores() ? 1 : 0;
  const int crowded = team_ && 2 * team_->size() <= cores() ? 0 : 1;
  const int mine[2] = {writes, crowded};
  int sums[2] = {};
  check(MPI_Allreduce(mine, sums, 2, MPI_INT, MPI_SUM, comm_), "MPI_Allreduce");
  writers_ = sums[0];
  idle_cores_ = sums[1] == 0;
  return why;
}

Communicator::Communicator(Communicator&& other) noexcept
    : user_(other.user_),
      comm_(other.comm_),
      team_(std::move(other.team_)),
      rank_(other.rank_),
      size_(other.size_),
      writers_(other.writers_),
      idle_cores_(other.idle_cores_),
      broken_off_(other.broken_off_) {
  other.comm_ = MPI_COMM_NULL;
}

void Communicator::release() noexcept {
  // After break_off() something may still be under way.
  if (team_) team_->release(/*keep=*/broken_off_);
  if (comm_ != MPI_COMM_NULL && mpi_is_running() && !broken_off_) MPI_Comm_free(&comm_);
  comm_ = MPI_COMM_NULL;
}

void Communicator::broadcast(std::span<std::byte> bytes, int root) const {
  if (alone()) return;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, root, comm_, &request),
        "MPI_Ibcast");
  wait(request, "MPI_Ibcast");
}

void Communicator::barrier() const {
  if (alone()) return;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(comm_, &request), "MPI_Ibarrier");
  wait(request, "MPI_Ibarrier");
}

void Communicator::check_usable() const {
  if (broken_off_)
    throw Error(ErrorClass::state,
                "an earlier call of this file was given up, since other ranks did not come to it; "
                "open the file again");
}

void Communicator::wait(MPI_Request& request, const char* call, Wait::OutOfPatience then) {
  for (Wait wait(then);; wait.poll()) {
    int done = 0;
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
    if (done) return;
  }
}

}  // namespace penstock
