// IoFile and IoCall: what a thread that makes storage calls may use of an open file, and of one
// call. All members are fixed, or synchronise themselves, so any thread may use them. A unit of an
// I/O queue gets at nothing else: the rest is the calling thread's (open_file.hpp, context.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "background/buffered_file.hpp"
#include "background/cache_speed.hpp"
#include "mpi/team.hpp"
#include "plan/plan.hpp"
#include "storage/count.hpp"
#include "trace/recorder.hpp"

namespace penstock {

/// What was done in the background, added up by its thread.
class BackgroundCounts {
 public:
  void add(const Statistics& more) {
    const std::lock_guard guard(mutex_);
    sum_ += more;
  }
  Statistics sum() const {
    const std::lock_guard guard(mutex_);
    return sum_;
  }

 private:
  mutable std::mutex mutex_;
  Statistics sum_;
};

/// Of an open file, as long as it is open.
struct IoFile {
  IoFile(Storage& storage, Team* team, std::shared_ptr<BufferedFile> buffered,
         std::shared_ptr<CacheSpeed> cache_speed, const Machine& machine)
      : storage(storage),
        team(team),
        buffered(std::move(buffered)),
        cache_speed(std::move(cache_speed)),
        page_cache(machine.page_cache),
        ranks(machine.ranks),
        nodes(machine.nodes) {}
  IoFile(const IoFile&) = delete;

  /// Where other ranks of the node see what this one does at the storage; null: nowhere.
  ShownAccess* shown_access() const noexcept {
    return team != nullptr ? &team->own_mailbox().access : nullptr;
  }

  Storage& storage;
  Team* const team;  // for permits, and for who copies; null: there is none
  const std::shared_ptr<BufferedFile> buffered;
  const std::shared_ptr<CacheSpeed> cache_speed;
  // Of the machine.
  const bool page_cache;
  const int ranks, nodes;

  std::atomic<bool> locks_work = true;  // cleared when the file system turns out to have none
  BackgroundCounts counts;              // of what I/O threads do
  StorageCounts storage_counts;         // the same, of storage calls
};

/// Of one call. Units keep it, and may outlast the call (Context::shared_io).
struct IoCall {
  IoCall(IoFile& file, Listener* listener, std::int64_t call)
      : file(file),
        storage(file.storage, counts, file.storage_counts, listener, call, file.shown_access()) {}
  IoCall(const IoCall&) = delete;

  IoFile& file;
  StorageCounts counts;  // of this call, but for what I/O threads do
  CountedStorage storage;
};

}  // namespace penstock
