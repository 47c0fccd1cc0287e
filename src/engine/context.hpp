// Context: one call of an open file, used only by the thread that carries it out: the calling
// thread, or an I/O thread that moves a request by itself (engine/buffering.hpp) with a context of
// its own. Other threads use only its `io`, which units share because they may outlast the call.
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

  /// Counts since the last query.
  Statistics take_counts() noexcept {
    io.counts.move_to(record.counts);
    return std::exchange(record.counts, {});
  }
  /// Null: the communicator has one rank.
  Transport* transport() const noexcept { return comm.alone() ? nullptr : &comm.transport(); }

  const std::shared_ptr<IoCall> shared_io;  // kept by units
  IoCall& io;  // for any thread; everything below is for this call's thread

  // Constant during the call.
  OpenFile& file;
  const std::shared_ptr<const Region> region;  // null: the whole file
  CountedStorage& storage;
  const Communicator& comm;
  BackgroundIo& background;
  const FileUnits& units;
  const Machine& machine;
  const std::shared_ptr<BufferedFile>& buffered;
  const Channel channel;

  // Variable state.
  BufferPool& pool;
  MemoryGauge& gauge;
  Recorder record;  // what the storage layer does not count
  Buffering buffering;
  std::optional<Copying> copying;  // set while this rank copies and the cores should be left to it
  Sieving sieving;                 // as planned
};

}  // namespace penstock
