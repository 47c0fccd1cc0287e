#include "mpi/thread_use.hpp"

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <penstock/error.hpp>

#include "mpi/communicator.hpp"

namespace penstock {
namespace {

/// The thread that uses MPI, identified by the address of its count; null: none.
std::atomic<const int*> user{nullptr};
thread_local int uses = 0;  // of this thread: calls nest

/// Constant while MPI runs, and needed by every call.
int thread_level() {
  static std::atomic<int> known{-1};
  int level = known.load(std::memory_order_relaxed);
  if (level >= 0) return level;
  if (!Communicator::mpi_is_running()) return MPI_THREAD_MULTIPLE;
  MPI_Query_thread(&level);
  known.store(level, std::memory_order_relaxed);
  return level;
}

bool take() noexcept {
  if (uses == 0) {
    const int* nobody = nullptr;
    if (!user.compare_exchange_strong(nobody, &uses, std::memory_order_acquire)) return false;
  }
  ++uses;
  return true;
}

}  // namespace

std::string thread_level_name(int level) {
  if (level == MPI_THREAD_SINGLE) return "MPI_THREAD_SINGLE";
  if (level == MPI_THREAD_FUNNELED) return "MPI_THREAD_FUNNELED";
  return level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED" : "MPI_THREAD_MULTIPLE";
}

MpiUse::MpiUse(const std::string& path, Otherwise otherwise)
    : counted_(thread_level() < MPI_THREAD_MULTIPLE) {
  while (counted_ && !take()) {
    if (otherwise == Otherwise::throws)
      throw Error(ErrorClass::state,
                  "'" + path +
                      "': another thread of this process is in a call of a file with a "
                      "communicator, and MPI runs with " +
                      thread_level_name(thread_level()) +
                      ", which does not allow two at a time: ask for MPI_THREAD_MULTIPLE "
                      "(MPI_Init_thread; mpi4py.rc.thread_level = 'multiple'), or make these "
                      "calls one after the other");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::optional<MpiUse> MpiUse::attempt() {
  const bool counted = thread_level() < MPI_THREAD_MULTIPLE;
  if (counted && !take()) return std::nullopt;
  return MpiUse(Counted{counted});
}

MpiUse::MpiUse(MpiUse&& other) noexcept : counted_(std::exchange(other.counted_, false)) {}

MpiUse::~MpiUse() {
  if (counted_ && --uses == 0) user.store(nullptr, std::memory_order_release);
}

}  // namespace penstock
