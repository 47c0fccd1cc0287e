// Context: an open array file as the engine sees it. Access: what one rank asks in one call.
#pragma once

#include <memory>
#include <vector>

#include <penstock/array_file.hpp>
#include <penstock/error.hpp>

#include "access/footprint.hpp"
#include "background/worker.hpp"
#include "base/buffer.hpp"
#include "base/stopwatch.hpp"
#include "exchange/staging.hpp"
#include "mpi/agree.hpp"
#include "mpi/communicator.hpp"
#include "plan/plan.hpp"
#include "storage/storage.hpp"

namespace penstock {

/// What the memory of the node exchange was made for; the same on every rank.
struct StagingKey {
  std::int64_t aggregators = 0, window = 0;
  int depth = 0;
  friend bool operator==(const StagingKey&, const StagingKey&) = default;
};

struct Context {
  Context(Storage& storage, const Communicator& comm, const ArrayLayout& layout, Machine machine)
      : storage(storage), comm(comm), layout(layout), machine(machine) {}

  Storage& storage;
  const Communicator& comm;
  const ArrayLayout& layout;
  Machine machine;
  MemoryGauge gauge;
  BufferPool pool;
  NodeStaging staging;  // of the node exchange
  StagingKey staging_key;
  Worker worker;               // does storage calls while this thread exchanges
  Statistics counts;           // of the call in progress, what storage does not count
  bool locks_work = true;      // cleared when the file system turns out to have none
  int calls = 0;               // collective calls so far: the same on every rank
  std::vector<Common> common;  // what all ranks must pass alike, of the hints of the last call
  Hints common_hints;

  /// Tags of this call; those of the call before may still be in use on slower ranks. Each step has
  /// its own: a rank that waits for letters must not take another's data for one.
  int letter_tag() const noexcept { return calls % 1024 * 4; }
  int data_tag() const noexcept { return calls % 1024 * 4 + 1; }
  int bundle_tag() const noexcept { return calls % 1024 * 4 + 2; }  // letters between nodes
};

enum class Direction { read, write };

/// Memory of a write is only read from.
struct Access {
  Direction direction = Direction::read;
  std::vector<Section> sections;
  std::vector<std::byte*> memory;                  // per section: its first element
  std::vector<std::vector<std::int64_t>> strides;  // per section, bytes per dimension
  Footprint file;                                  // file side, merged into the longest runs
  Footprint both;                                  // file and memory side, piece by piece the same

  bool writes() const noexcept { return direction == Direction::write; }
  void locate(const ArrayLayout& layout) {
    file = Footprint(layout, sections);
    both = Footprint(layout, sections, &strides);
  }
};

}  // namespace penstock
