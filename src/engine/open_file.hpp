// OpenFile: an open file as the engine sees it. All members but `io` are for one thread at a time:
// the one that resumes the file's operations.
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

/// What the memory of the node exchange was sized for; the same on every rank.
struct StagingKey {
  std::int64_t aggregators = 0, slot_bytes = 0;
  int depth = 0;
  bool buffered = false;
  friend bool operator==(const StagingKey&, const StagingKey&) = default;
};

/// Memory for messages and windows, and a gauge of it. The gauge outlives the buffers.
struct Buffers {
  MemoryGauge gauge;
  BufferPool pool;
};

struct OpenFile {
  /// `background`: the process's. `buffered` and `cache_speed`: of this file, and of its device.
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

  IoFile io;  // for any thread; everything below is for the calling thread

  // Fixed while the file is open.
  Storage& storage;
  const Communicator& comm;
  BackgroundIo& background;  // of the process: shared with other files
  /// Makes storage calls while the calling thread exchanges.
  const std::shared_ptr<IoQueue> queue_of_calls;

  // Kept between calls.
  FileUnits units;
  Machine machine;
  Buffers buffers;
  NodeStaging staging;  // for the node exchange
  StagingKey staging_key;
  TeamArenas arenas;             // of this node's ranks; set up by the first buffered write
  bool shortened = false;        // it may end before units.all does; the same on every rank
  std::int64_t last_budget = 0;  // of the last write
  std::int64_t writes = 0;       // so far, including this rank's independent ones
  std::int64_t calls_before;     // collective calls of earlier files on this endpoint
  std::int64_t calls = 0;        // collective calls of this file; the same on every rank
  Listener* listener = nullptr;  // observes calls; null: nobody does
  /// Phases that calls in flight go through one after the other: meeting and preparing, exchanging,
  /// existing.
  Turns beginnings, exchanges, ends;
  std::optional<Error> unreported;  // background error that was taken, but not reported: the ranks
                                    // were in different calls
  std::optional<Error> damage;      // the first error that kept bytes out of the file
  std::vector<Common> common;  // what all ranks must pass alike, from the hints of the last call
  Hints common_hints;
  std::string common_region;

  /// Of the next collective call.
  Channel next_channel(CallKind kind) {
    ++calls;
    return {comm, storage.path(), {kind, calls}, calls_before + calls};
  }
  /// A background error that the next agreement on entry has to report.
  const std::optional<Error>& unreported_failure() {
    if (!unreported) unreported = io.buffered->take_failure();
    if (unreported) note_damage(*unreported);
    return unreported;
  }
  void note_damage(const Error& error) {
    if (!damage) damage = error;
  }
  /// The same, for a caller that will certainly report it.
  std::optional<Error> take_failure() {
    unreported_failure();
    return std::exchange(unreported, std::nullopt);
  }
};

/// Agreement on entry of every collective call. A background error counts as reported unless the
/// ranks are in different calls. Throws what they agree on.
Task<Demand> enter(OpenFile& file, const Channel& channel, const Entry& entry);

}  // namespace penstock
