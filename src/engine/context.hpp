// Context: one call of an open file, for the thread that goes on with it: the calling thread, or of
// a request that an I/O thread moves by itself (engine/buffering.hpp) that one, which has a context
// of its own. What others do for the call is done with its `io` alone.
#pragma once

#include <memory>
#include <utility>

#include "engine/access.hpp"
#include "engine/copying.hpp"
#include "engine/open_file.hpp"

namespace penstock {

struct Context : std::enable_shared_from_this<Context> {
  Context(OpenFile& file, const Channel& channel, Buffers& buffers,
          std::shared_ptr<const Region> region = nullptr)
      : io(file.io, file.listener, channel.call.number),
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
  /// For units, which other threads carry out and which may outlast the call.
  std::shared_ptr<IoCall> share_io() { return {shared_from_this(), &io}; }

  IoCall io;  // of every thread; all that follows is this call's thread's

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
  Sieving sieving;  // of the plan
};

}  // namespace penstock
