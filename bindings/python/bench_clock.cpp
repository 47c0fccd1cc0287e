#include "bench_clock.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <string>

namespace penstock::python {
namespace {

constexpr long kProgress = 10'000'000;  // nanoseconds asleep before MPI is called
constexpr long kPoll = 100'000;         // nanoseconds between two polls of other machines

void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  const timespec limit{0, kProgress};
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, value, &limit, nullptr,
          0);
}

void wake_all(std::atomic<std::uint32_t>& word, std::uint32_t most) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, most, nullptr, nullptr,
          0);
}

bool on_one_machine(MPI_Comm comm) {
  int ranks = 0, neighbours = 0;
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, &neighbours);
  MPI_Comm_free(&machine);
  MPI_Comm_size(comm, &ranks);
  int together = neighbours == ranks;
  MPI_Allreduce(MPI_IN_PLACE, &together, 1, MPI_INT, MPI_LAND, comm);
  return together;
}

/// A descriptor of zeroed memory that rank 0 makes and the others open through its process, so that
/// nothing is left behind however a run ends. -1 on failure.
int memory_of_rank_0(MPI_Comm comm, std::size_t bytes) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  long place[2] = {getpid(), -1};  // process and descriptor
  if (rank == 0) {
    place[1] = memfd_create("penstock-bench", MFD_CLOEXEC);
    if (ftruncate(static_cast<int>(place[1]), static_cast<off_t>(bytes)) != 0) place[1] = -1;
  }
  MPI_Bcast(place, 2, MPI_LONG, 0, comm);
  if (rank == 0) return static_cast<int>(place[1]);
  const std::string path = "/proc/" + std::to_string(place[0]) + "/fd/" + std::to_string(place[1]);
  return ::open(path.c_str(), O_RDWR | O_CLOEXEC);
}

}  // namespace

double now() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

SleepingBarrier::SleepingBarrier(MPI_Comm comm) : comm_(comm) {
  if (!on_one_machine(comm)) return;
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  ranks_ = static_cast<std::uint32_t>(ranks);
  const int file = memory_of_rank_0(comm, sizeof(Shared));
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  int good = memory != MAP_FAILED;
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_LAND, comm);
  if (file >= 0) ::close(file);
  if (good) shared_ = static_cast<Shared*>(memory);  // zeros: nobody has arrived
  else if (memory != MAP_FAILED) munmap(memory, sizeof(Shared));
}

SleepingBarrier::~SleepingBarrier() {
  if (shared_ != nullptr) munmap(shared_, sizeof(Shared));
}

void SleepingBarrier::wait() {
  if (shared_ != nullptr) wait_on_this_machine();
  else wait_across_machines();
}

void SleepingBarrier::wait_on_this_machine() {
  const std::uint32_t mine = shared_->generation.load();
  if (shared_->arrived.fetch_add(1) + 1 == ranks_) {
    shared_->arrived.store(0);
    shared_->generation.store(mine + 1);
    wake_all(shared_->generation, ranks_);
    return;
  }
  while (shared_->generation.load() == mine) {
    sleep_while(shared_->generation, mine);
    // A library may still have to send something to another rank, which it only does when it is
    // called.
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, MPI_STATUS_IGNORE);
  }
}

void SleepingBarrier::wait_across_machines() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm_, &request);
  const timespec pause{0, kPoll};
  int done = 0;
  for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done;
       MPI_Test(&request, &done, MPI_STATUS_IGNORE))
    nanosleep(&pause, nullptr);
}

}  // namespace penstock::python
