#include "file/process.hpp"

#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <set>

#include "base/process_id.hpp"
#include "file/byte_file.hpp"
#include "mpi/communicator.hpp"
#include "trace/trace.hpp"

namespace penstock {

namespace {

struct OpenFiles {
  std::mutex mutex;
  std::set<ByteFile*> files;
};

/// Never destroyed, like the next.
OpenFiles& open_files() {
  static auto* const files = new OpenFiles;
  return *files;
}

void lock_for_fork() {
  open_files().mutex.lock();
  background_of_process().lock_for_fork();
}

void unlock_after_fork() {
  background_of_process().unlock_after_fork();
  open_files().mutex.unlock();
}

/// In the child, since these are the parent's files.
void forget_after_fork() {
  background_of_process().forget_after_fork();
  open_files().files.clear();
  open_files().mutex.unlock();
}

}  // namespace

BackgroundIo& background_of_process() {
  // Never destroyed: files of static storage duration may still be closed at exit.
  static BackgroundIo* const background = [] {
    std::atexit([] {
      note_exit();
      finish_process();
    });
    ::pthread_atfork(&lock_for_fork, &unlock_after_fork, &forget_after_fork);
    return new BackgroundIo;
  }();
  return *background;
}

void note_open(ByteFile& file) {
  const std::lock_guard guard(open_files().mutex);
  open_files().files.insert(&file);
}

void note_closed(ByteFile& file) noexcept {
  const std::lock_guard guard(open_files().mutex);
  open_files().files.erase(&file);
}

void finish_process() noexcept {
  {
    const std::lock_guard guard(open_files().mutex);
    for (ByteFile* const file : open_files().files) file->await_threads();
  }
  background_of_process().finish();
}

Listener* listener_of(const std::string& path) {
  trace::Trace* const trace = trace::of_process();
  if (trace == nullptr) return nullptr;
  int rank = -1, ranks = 0;
  if (Communicator::mpi_is_running()) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    trace->set_rank(rank, ranks);
  }
  return trace->listener(path);
}

}  // namespace penstock
