#include "mpi/communicator.hpp"

#include <pthread.h>

#include <atomic>
#include <numeric>

#include <penstock/error.hpp>

#include "base/cores.hpp"
#include "mpi/errors_returned.hpp"
#include "mpi/thread_use.hpp"

namespace penstock {
namespace {

std::atomic<bool> forked{false};

bool runs() noexcept {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  if (initialized) MPI_Finalized(&finalized);
  return initialized && !finalized;
}

/// Installed at the start of the program.
const bool watches_forks = ::pthread_atfork(nullptr, nullptr, [] {
                             if (runs()) forked = true;
                           }) == 0;

}  // namespace

bool Communicator::is_forked_from_mpi() noexcept {
  return watches_forks && forked;
}

bool Communicator::mpi_is_running() noexcept {
  return !is_forked_from_mpi() && runs();
}

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
  if (is_forked_from_mpi())
    throw Error(ErrorClass::state,
                "communicator: this process is a fork of one that has initialised MPI, and cannot "
                "use it; open files here without a communicator");
  if (!mpi_is_running())
    throw Error(
        ErrorClass::argument,
        "communicator: MPI is not initialised or already finalised; call MPI_Init first, or "
        "pass no communicator to work in this process alone");
  const MpiUse use("communicator");
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

Communicator::Communicator(int rank, int size, std::unique_ptr<FileEndpoint> endpoint)
    : rank_(rank),
      size_(size),
      file_endpoint_(std::move(endpoint)),
      endpoint_(file_endpoint_.get()) {}

std::vector<int> Communicator::world_ranks() const {
  std::vector<int> ranks(static_cast<std::size_t>(size_)), in_world(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  MPI_Group mine = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  check(MPI_Comm_group(user_, &mine), "MPI_Comm_group");
  check(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  check(MPI_Group_translate_ranks(mine, size_, ranks.data(), world, in_world.data()),
        "MPI_Group_translate_ranks");
  MPI_Group_free(&mine);
  MPI_Group_free(&world);
  return in_world;
}

void Communicator::connect() {
  if (alone()) return;
  group_ = Group::of(user_);
  opening_ = std::unique_lock(group_->opening());
  group_->form(user_);
  endpoint_ = &group_->opening_endpoint();
  if (const InCall* const in = InCall::current()) in->show();
}

FreeEndpoints Communicator::free_endpoints(int most) const {
  return group_ ? group_->free_endpoints(most) : FreeEndpoints{};
}

std::string Communicator::take_endpoint(const FreeEndpoints& all, int most) {
  std::string why;
  if (alone()) return why;
  file_endpoint_ = group_->take(user_, most, all, why);
  if (team() != nullptr) team()->clear_own_mailbox();
  endpoint_ = file_endpoint_.get();
  if (const InCall* const in = InCall::current()) in->show();
  opening_.unlock();
  return why;
}

bool Communicator::is_self() const noexcept {
  int compared = MPI_UNEQUAL;
  return !is_null() && MPI_Comm_compare(user_, MPI_COMM_SELF, &compared) == MPI_SUCCESS &&
         compared == MPI_IDENT;
}

bool Communicator::idle_cores() const noexcept {
  return endpoint_ != nullptr ? endpoint_->idle_cores : Cores::own().count() > 1;
}

void Communicator::release() noexcept {
  if (!file_endpoint_) return;
  endpoint_ = nullptr;
  if (file_endpoint_->broken_off) group_->retire(std::move(file_endpoint_));
  else group_->give_back(std::move(file_endpoint_));
  group_.reset();  // may be the last reference if the user has freed the communicator
}

Communicator::~Communicator() {
  if (file_endpoint_ && group_) group_->retire(std::move(file_endpoint_));
}

void Communicator::check_usable() const {
  if (!is_broken_off()) return;
  throw Error(ErrorClass::state,
              file_endpoint_
                  ? "an earlier call of this file was given up, since other ranks did not come "
                    "to it; open the file again"
                  : "an earlier open with this communicator was given up, since other ranks did "
                    "not come to it; open files with another one, such as a duplicate of it");
}

void Communicator::throw_gone(int rank, const std::string& path) const {
  break_off();
  const std::string who = "rank " + std::to_string(rank);
  // The opening endpoint is used only for opening files.
  const std::string text =
      file_endpoint_
          ? who + " has abandoned '" + path +
                "' without closing it (after an exception, or at its end), and will not come to "
                "this call; the file cannot be used any more"
          : who + " has ended MPI and will not come to this open of '" + path +
                "': all ranks of the communicator must open the file with it";
  throw Error::from_rank(rank, ErrorClass::state, text, path, -1, 0);
}

void Communicator::wait(MPI_Request& request, const char* call, Wait::OutOfPatience then) {
  for (Wait wait(then);; wait.poll()) {
    int done = 0;
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
    if (done) return;
  }
}

}  // namespace penstock
