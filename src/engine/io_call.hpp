// IoFile and IoCall: the parts of an open file, and of one call, that any thread making storage
// calls may use. Members are constant or thread-safe. Units of an I/O queue reach nothing else: the
// rest belongs to the calling thread (open_file.hpp, context.hpp).
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

/// What was done in the background, summed by the I/O thread.
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

/// Part of an open file; lives as long as the file is open.
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

  /// Where other ranks of the node see this rank's storage accesses; null: nowhere.
  ShownAccess* shown_access() const noexcept {
    return team != nullptr ? &team->own_mailbox().access : nullptr;
  }

  Storage& storage;
  Team* const team;  // for permits and copying state; null: no shared memory
  const std::shared_ptr<BufferedFile> buffered;
  const std::shared_ptr<CacheSpeed> cache_speed;
  // Properties of the machine.
  const bool page_cache;
  const int ranks, nodes;

  std::atomic<bool> locks_work = true;  // cleared if the file system turns out not to support locks
  BackgroundCounts counts;              // of the I/O threads
  StorageCounts storage_counts;         // storage calls of the I/O threads
};

/// Part of one call. Units keep it, and may outlast the call (Context::shared_io).
struct IoCall {
  IoCall(IoFile& file, Listener* listener, std::int64_t call)
      : file(file),
        storage(file.storage, counts, file.storage_counts, listener, call, file.shown_access()) {}
  IoCall(const IoCall&) = delete;

  IoFile& file;
  StorageCounts counts;  // of this call, without what I/O threads do
  CountedStorage storage;
};

}  // namespace penstock
