// Context: an open file as the engine sees it. Access: what one rank asks in one call.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <penstock/array_file.hpp>
#include <penstock/error.hpp>

#include "background/background_io.hpp"
#include "background/cache_speed.hpp"
#include "background/worker.hpp"
#include "base/buffer.hpp"
#include "base/direction.hpp"
#include "base/stopwatch.hpp"
#include "exchange/arenas.hpp"
#include "exchange/staging.hpp"
#include "mpi/agree.hpp"
#include "mpi/communicator.hpp"
#include "pattern/footprint.hpp"
#include "plan/plan.hpp"
#include "storage/storage.hpp"

namespace penstock {

/// What the memory of the node exchange was made for; the same on every rank.
struct StagingKey {
  std::int64_t aggregators = 0, window = 0;
  int depth = 0;
  bool buffered = false;
  friend bool operator==(const StagingKey&, const StagingKey&) = default;
};

/// A rank is copying where storage would need a core, too (the page cache): the I/O threads of its
/// node let it finish first.
class Copying {
 public:
  Copying(BackgroundIo& background, Team* team) : hold_(background), team_(team) {
    if (team_ != nullptr) team_->begin_copying();
  }
  Copying(const Copying&) = delete;
  ~Copying() {
    if (team_ != nullptr) team_->end_copying();
  }

 private:
  BackgroundIo::Hold hold_;
  Team* team_;
};

/// How the call in progress uses the active buffer.
struct Buffering {
  std::int64_t budget = 0;     // bytes; 0: not at all
  std::int64_t operation = 0;  // which write of the file it is
  bool near = false;           // storage takes its bytes as quickly as a buffer would
  Placement placement;
  IoTicket last = 0;                 // its newest unit
  std::unique_ptr<Copying> copying;  // while there is room and cores are better used for that
};

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

/// What has begun on a file and whose end the ranks have not met for.
class Unended {
 public:
  virtual ~Unended() = default;
  /// The call that began the oldest, 0 where there is none. The same on every rank.
  virtual std::int64_t oldest() = 0;
  /// Collective.
  virtual void end_oldest() = 0;
};

struct Context {
  Context(Storage& storage, const Communicator& comm, BackgroundIo& background, FileUnits units,
          Machine machine)
      : storage(storage),
        comm(comm),
        background(background),
        units(std::move(units)),
        machine(machine),
        calls(comm.calls()) {}

  Storage& storage;
  const Communicator& comm;
  BackgroundIo& background;  // of the process: other files share it
  FileUnits units;
  Machine machine;
  MemoryGauge gauge;
  BufferPool pool;
  NodeStaging staging;  // of the node exchange
  StagingKey staging_key;
  TeamArenas arenas;  // of this node's ranks, once a write has been buffered
  Worker worker;      // does storage calls while this thread exchanges
  Statistics counts;  // of the call in progress, what storage does not count
  BackgroundCounts background_counts;
  std::shared_ptr<BufferedFile> buffered;  // null: nothing of this file is ever buffered
  std::shared_ptr<CacheSpeed> cache_speed;
  Buffering buffering;
  bool shortened = false;        // the file may end before the array does; the same on every rank
  std::int64_t last_budget = 0;  // of the last write
  std::int64_t writes = 0;       // collective writes so far: the same on every rank
  std::atomic<bool> locks_work = true;  // cleared when the file system turns out to have none
  int calls;  // reads and writes so far, with those of the lane: the same on every rank
  std::int64_t entered = 0;     // collective calls on which the ranks agreed
  Unended* unended = nullptr;   // null: nothing begins here that ends later
  std::optional<Error> untold;  // of the background, taken, but the ranks did not meet in one call
  std::vector<Common> common;   // what all ranks must pass alike, of the hints of the last call
  Hints common_hints;

  /// What went wrong in the background, to be told by the entry of a call.
  const std::optional<Error>& failure_to_tell() {
    if (!untold) untold = buffered->take_failure();
    return untold;
  }
  /// The same, to be told for certain.
  std::optional<Error> take_failure() {
    failure_to_tell();
    return std::exchange(untold, std::nullopt);
  }

  /// Tags of this call; those of the call before may still be in use on slower ranks. Each step has
  /// its own: a rank that waits for letters must not take another's data for one.
  int letter_tag() const noexcept { return calls % Communicator::different_calls * 4; }
  int data_tag() const noexcept { return letter_tag() + 1; }
  int bundle_tag() const noexcept { return letter_tag() + 2; }  // letters between nodes
};

/// The entry of every collective call of an open file: the ranks meet, and where some of them wait
/// for an operation that this rank has not ended, it ends that first. `prepare` makes the Entry,
/// anew each time. Throws what the ranks agree on.
template <class Prepare>
Demand enter(Context& context, Prepare&& prepare) {
  for (;;) {
    InCall::current()->set_number(context.entered + 1);
    Entry entry = prepare();
    entry.oldest = context.unended != nullptr ? context.unended->oldest() : 0;
    try {
      if (const std::optional<Demand> all = agree_on_entry(context.comm, entry)) {
        ++context.entered;
        return *all;
      }
    } catch (const Error& error) {
      if (error.error_class() != ErrorClass::disagreement) context.untold.reset();
      throw;
    }
    context.unended->end_oldest();
  }
}

/// Memory of a write is only read from.
struct Access {
  Direction direction = Direction::read;
  Footprint file;
  std::vector<MemoryMap> memory;  // of each pattern of the footprint

  bool writes() const noexcept { return direction == Direction::write; }
};

}  // namespace penstock
