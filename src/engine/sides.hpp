// The two sides of the sparse exchange. Every rank is a Requester; some are Aggregators as well.
//
// A window (round k of aggregator a) travels as the WindowStreams of the ranks that want bytes of
// it, each cut into chunks of at most one slot. Both ends derive chunks from the same sections, so
// no sizes or offsets are sent.
//
// Why there is no deadlock: all ranks process windows in the same total order, by (round,
// aggregator), and every bounded pool is used in that order. So the least unfinished window always
// gets the next slots of its senders and receivers.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "engine/context.hpp"
#include "engine/exchanges.hpp"
#include "engine/slots.hpp"

namespace penstock {

/// Moves this rank's bytes to (write) or from (read) the other ranks that are aggregators.
class Requester {
 public:
  Requester(Context& context, const Access& access, const Plan& plan, const Neighbours& touched,
            Slots& slots);
  /// Posts chunks until the slots are full or none is left.
  void post();
  void completed(int slot);
  bool done() const noexcept { return !has_chunk_ && slots_.idle(); }

 private:
  struct Chunk {
    std::shared_ptr<const WindowStream> stream;
    std::int64_t begin = 0, end = 0;
    int peer = -1;
  };
  struct Neighbour {
    std::int64_t round, aggregator;
    auto operator<=>(const Neighbour&) const = default;
  };
  void queue(std::int64_t aggregator, std::int64_t round);
  void advance();
  void copy(const Chunk& chunk, std::byte* packed) const;

  Context& context_;
  const Access& access_;
  const Plan& plan_;
  Slots& slots_;
  std::priority_queue<Neighbour, std::vector<Neighbour>, std::greater<>> neighbours_;  // ascending
  Chunk next_;
  bool has_chunk_ = false;
  std::vector<std::optional<Chunk>> unpacking_;  // per slot: a read to be unpacked
};

/// Works through the rounds of one domain: while one window is exchanged, the previous one is
/// written or the next one read.
class Aggregator {
 public:
  Aggregator(Context& context, const Access& access, Prepared& prepared, Slots& slots);
  /// Progresses as far as the slots allow; may read or write the file.
  void post();
  void completed(int slot);
  bool done() const noexcept { return finished_ && slots_.idle(); }
  const std::optional<Error>& error() const noexcept { return queue_.error(); }

 private:
  struct Arrival {  // a chunk in flight, in rank order
    std::size_t source;
    std::int64_t begin, end;
    int slot;  // -1: this rank's own bytes
    bool here;
  };

  void next_window();
  Window* open_window();
  bool next_chunk(Arrival& chunk);
  void post_receives();
  void post_sends();
  void overlay_arrived();
  void overlay(const Arrival& arrival);
  void copy(const Arrival& chunk, std::byte* packed);
  bool is_self(std::size_t source) const noexcept {
    return table_.sources()[source].rank == context_.comm.rank();
  }

  Context& context_;
  const Access& access_;
  Slots& slots_;
  DomainTable& table_;
  WindowQueue& queue_;
  Window* current_ = nullptr;
  Window* ahead_ = nullptr;  // a read started early
  bool finished_ = false;
  std::size_t at_source_ = 0;  // the next chunk to post
  std::int64_t at_byte_ = 0;
  std::deque<Arrival> arrivals_;
};

}  // namespace penstock
