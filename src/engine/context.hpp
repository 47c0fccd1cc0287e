// OpenFile: an open file as the engine sees it. Context: one call of it. Access: what one rank asks
// in one call.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <penstock/array_file.hpp>
#include <penstock/error.hpp>

#include "background/background_io.hpp"
#include "background/cache_speed.hpp"
#include "base/buffer.hpp"
#include "base/direction.hpp"
#include "base/task.hpp"
#include "engine/arenas.hpp"
#include "engine/staging.hpp"
#include "mpi/agree.hpp"
#include "mpi/channel.hpp"
#include "pattern/footprint.hpp"
#include "plan/plan.hpp"
#include "storage/count.hpp"
#include "trace/recorder.hpp"

namespace penstock {

/// A part of the file that is an array of its own: domains are cut by its units. All ranks of a
/// call must mean the same.
struct Region {
  std::string name;
  FileUnits units;
};

/// What the memory of the node exchange was made for; the same on every rank.
struct StagingKey {
  std::int64_t aggregators = 0, slot_bytes = 0;
  int depth = 0;
  bool buffered = false;
  friend bool operator==(const StagingKey&, const StagingKey&) = default;
};

/// This rank copies, and storage would need a core, too (the page cache): while one exists, the I/O
/// threads of this rank are throttled, and those of its node wait before a unit (let_copy).
class Copying {
 public:
  Copying(BackgroundIo& background, Team* team) : throttle_(background), team_(team) {
    if (team_ != nullptr) team_->begin_copying();
  }
  Copying(const Copying&) = delete;
  ~Copying() {
    if (team_ != nullptr) team_->end_copying();
  }

 private:
  BackgroundIo::Throttle throttle_;
  Team* team_;
};

/// How a call uses the active buffer.
struct Buffering {
  std::int64_t budget = 0;     // bytes; 0: not at all
  std::int64_t operation = 0;  // which write of the file it is
  bool cached = false;         // storage is the page cache, and as quick as a buffer
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

/// Calls that have something to do in turn, in the order in which they began.
class Turns {
 public:
  void join(std::int64_t call) { waiting_.insert(call); }
  bool is_turn_of(std::int64_t call) const { return *waiting_.begin() == call; }
  std::int64_t first() const noexcept { return waiting_.empty() ? 0 : *waiting_.begin(); }
  void leave(std::int64_t call) noexcept { waiting_.erase(call); }

 private:
  std::set<std::int64_t> waiting_;
};

/// Memory for messages and windows, and how much of it there is. The gauge outlives the buffers.
struct Buffers {
  MemoryGauge gauge;
  BufferPool pool;
};

struct OpenFile {
  OpenFile(Storage& storage, const Communicator& comm, BackgroundIo& background, FileUnits units,
           Machine machine)
      : storage(storage),
        comm(comm),
        background(background),
        units(std::move(units)),
        machine(machine),
        queue_of_calls(background.queue_of_calls()),
        calls_before(comm.calls()) {}
  OpenFile(const OpenFile&) = delete;

  Storage& storage;
  const Communicator& comm;
  BackgroundIo& background;  // of the process: other files share it
  FileUnits units;
  Machine machine;
  Buffers buffers;
  NodeStaging staging;  // of the node exchange
  StagingKey staging_key;
  TeamArenas arenas;  // of this node's ranks, once a write has been buffered
  /// Does storage calls while the calling thread exchanges.
  const std::shared_ptr<IoQueue> queue_of_calls;
  BackgroundCounts background_counts;
  StorageCounts background_storage;        // what I/O threads do
  std::shared_ptr<BufferedFile> buffered;  // null: nothing of this file is ever buffered
  std::shared_ptr<CacheSpeed> cache_speed;
  bool shortened = false;               // it may end before units.all does; the same on every rank
  std::int64_t last_budget = 0;         // of the last write
  std::int64_t writes = 0;              // so far; independent ones of this rank among them
  std::atomic<bool> locks_work = true;  // cleared when the file system turns out to have none
  std::int64_t calls_before;            // collective calls of the files before in this lane
  std::int64_t calls = 0;               // of this one; the same on every rank
  Listener* listener = nullptr;         // to what happens; null: nobody
  /// What calls in flight do one after the other: meet and prepare, exchange, exist.
  Turns beginnings, exchanges, ends;
  std::optional<Error> untold;  // of the background, taken, but the ranks did not meet in one call
  std::optional<Error> damage;  // the first that kept something out of the file
  std::vector<Common> common;   // what all ranks must pass alike, of the hints of the last call
  Hints common_hints;
  std::string common_region;

  /// Of the next collective call.
  Channel next_channel(CallKind kind) {
    ++calls;
    return {comm, storage.path(), {kind, calls}, calls_before + calls};
  }
  /// What went wrong in the background, to be told by the entry of a call.
  const std::optional<Error>& failure_to_tell() {
    if (!untold) untold = buffered->take_failure();
    if (untold) note_damage(*untold);
    return untold;
  }
  void note_damage(const Error& error) {
    if (!damage) damage = error;
  }
  /// The same, to be told for certain.
  std::optional<Error> take_failure() {
    failure_to_tell();
    return std::exchange(untold, std::nullopt);
  }
};

struct Context : std::enable_shared_from_this<Context> {
  Context(OpenFile& file, const Channel& channel, Buffers& buffers,
          std::shared_ptr<const Region> region = nullptr)
      : file(file),
        region(std::move(region)),
        storage(file.storage, storage_counts, file.background_storage, file.listener,
                channel.call.number),
        comm(file.comm),
        background(file.background),
        units(this->region ? this->region->units : file.units),
        machine(file.machine),
        pool(buffers.pool),
        gauge(buffers.gauge),
        buffered(file.buffered),
        channel(channel),
        record(channel.call.number, file.listener) {}
  Context(const Context&) = delete;

  /// What was counted since it was asked last.
  Statistics take_counts() noexcept {
    storage_counts.move_to(record.counts);
    return std::exchange(record.counts, {});
  }
  /// Null: this rank is alone.
  Transport* transport() const noexcept { return comm.alone() ? nullptr : &comm.transport(); }

  OpenFile& file;
  const std::shared_ptr<const Region> region;  // null: the whole file
  StorageCounts storage_counts;                // of this call, but for what I/O threads do
  CountedStorage storage;
  const Communicator& comm;
  BackgroundIo& background;
  const FileUnits& units;
  const Machine& machine;
  BufferPool& pool;
  MemoryGauge& gauge;
  const std::shared_ptr<BufferedFile>& buffered;
  Channel channel;
  Recorder record;  // what storage does not count
  Buffering buffering;
  Sieving sieving;  // of the plan
};

/// The entry of every collective call. What the ranks are told of the background is told for good
/// unless they are in different calls. Throws what they agree on.
Task<Demand> enter(OpenFile& file, const Channel& channel, const Entry& entry);

/// Where ranks write the same bytes in one call. `unspecified` saves waiting for each other; it
/// counts where all ranks say so.
enum class Overlap { highest_rank, unspecified };

/// Whom a request needs: all ranks in the same call, or none.
enum class Company { collective, independent };

/// Memory of a write is only read from.
struct Access {
  Direction direction = Direction::read;
  Overlap overlap = Overlap::highest_rank;
  Footprint file;
  std::vector<MemoryMap> memory;         // of each pattern of the footprint
  std::shared_ptr<const Region> region;  // that it is about; null: the whole file
  std::shared_ptr<const void> keeps;     // memory that is not the program's; null: all of it is

  /// Of an independent one: no other atomic access of the file changes, or sees, a part of it
  /// (MPI 4.1, section 14.6.1).
  bool atomic = false;

  bool writes() const noexcept { return direction == Direction::write; }
  /// Leaves out what is at or above `end`.
  void clip(std::int64_t end);
};

}  // namespace penstock
