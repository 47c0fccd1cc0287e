// Context: one call of an open file, for the thread that carries it out: the calling thread, or of
// a request that an I/O thread moves by itself (engine/buffering.hpp) that one, which has a context
// of its own. What other threads do for the call is done with its `io` alone, which units share:
// they may outlast the call, and keep nothing else of it.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "engine/access.hpp"
#include "engine/copying.hpp"
#include "engine/open_file.hpp"

namespace penstock {

struct Context {
  Context(OpenFile& file, const Channel& channel, Buffers& buffers,
          std::shared_ptr<const Region> region = nullptr)
      : shared_io(std::make_shared<IoCall>(file.io, file.listener, channel.call.number)),
        io(*shared_io),
        file(file),
        region(std::move(region)),
        storage(io.storage),
        comm(file.comm),
        background(file.background),
        units(this->region ? this->region->units : file.units),
        machine(file.machine),
        buffered(file.io.buffered),
        channel(channel),
        pool(buffers.pool),
        gauge(buffers.gauge),
        record(channel.call.number, file.listener) {}
  Context(const Context&) = delete;

  /// What was counted since it was asked last.
  Statistics take_counts() noexcept {
    io.counts.move_to(record.counts);
    return std::exchange(record.counts, {});
  }
  /// Null: this rank is alone.
  Transport* transport() const noexcept { return comm.alone() ? nullptr : &comm.transport(); }

  const std::shared_ptr<IoCall> shared_io;  // for units
  IoCall& io;  // of every thread; all that follows is this call's thread's

  // The same all through the call.
  OpenFile& file;
  const std::shared_ptr<const Region> region;  // null: the whole file
  CountedStorage& storage;
  const Communicator& comm;
  BackgroundIo& background;
  const FileUnits& units;
  const Machine& machine;
  const std::shared_ptr<BufferedFile>& buffered;
  const Channel channel;

  // What changes.
  BufferPool& pool;
  MemoryGauge& gauge;
  Recorder record;  // what storage does not count
  Buffering buffering;
  std::optional<Copying> copying;  // while there is room and cores are better used for that
  Sieving sieving;                 // of the plan
};

}  // namespace penstock
