// OpenFile: an open file as the engine sees it. All of it but `io` is the calling thread's: the one
// that goes on with its operations, one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <penstock/error.hpp>
#include <penstock/hints.hpp>

#include "background/background_io.hpp"
#include "base/buffer.hpp"
#include "base/task.hpp"
#include "engine/arenas.hpp"
#include "engine/io_call.hpp"
#include "engine/staging.hpp"
#include "engine/turns.hpp"
#include "mpi/agree.hpp"
#include "mpi/channel.hpp"

namespace penstock {

/// What the memory of the node exchange was made for; the same on every rank.
struct StagingKey {
  std::int64_t aggregators = 0, slot_bytes = 0;
  int depth = 0;
  bool buffered = false;
  friend bool operator==(const StagingKey&, const StagingKey&) = default;
};

/// Memory for messages and windows, and how much of it there is. The gauge outlives the buffers.
struct Buffers {
  MemoryGauge gauge;
  BufferPool pool;
};

struct OpenFile {
  /// `background`: of the process. `buffered` and `cache_speed`: of this file, and of its device.
  OpenFile(Storage& storage, const Communicator& comm, BackgroundIo& background,
           std::shared_ptr<BufferedFile> buffered, std::shared_ptr<CacheSpeed> cache_speed,
           FileUnits units, Machine machine)
      : io(storage, comm.team(), std::move(buffered), std::move(cache_speed), machine),
        storage(storage),
        comm(comm),
        background(background),
        queue_of_calls(background.queue_of_calls()),
        units(std::move(units)),
        machine(machine),
        calls_before(comm.calls()) {}
  OpenFile(const OpenFile&) = delete;

  IoFile io;  // of every thread; all that follows is the calling thread's

  // As long as the file is open.
  Storage& storage;
  const Communicator& comm;
  BackgroundIo& background;  // of the process: other files share it
  /// Does storage calls while the calling thread exchanges.
  const std::shared_ptr<IoQueue> queue_of_calls;

  // From call to call.
  FileUnits units;
  Machine machine;
  Buffers buffers;
  NodeStaging staging;  // of the node exchange
  StagingKey staging_key;
  TeamArenas arenas;             // of this node's ranks, once a write has been buffered
  bool shortened = false;        // it may end before units.all does; the same on every rank
  std::int64_t last_budget = 0;  // of the last write
  std::int64_t writes = 0;       // so far; independent ones of this rank among them
  std::int64_t calls_before;     // collective calls of the files before in this lane
  std::int64_t calls = 0;        // of this one; the same on every rank
  Listener* listener = nullptr;  // to what happens; null: nobody
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
    if (!untold) untold = io.buffered->take_failure();
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

/// The entry of every collective call. What the ranks are told of the background is told for good
/// unless they are in different calls. Throws what they agree on.
Task<Demand> enter(OpenFile& file, const Channel& channel, const Entry& entry);

}  // namespace penstock
