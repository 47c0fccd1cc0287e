// The node exchange. Ranks of one node copy directly between their own memory and the staging
// buffer of their aggregator (engine/staging.hpp has the protocol). For an aggregator on another
// node, one rank of the node is the proxy: the ranks copy into a slot of the proxy, which sends the
// bytes of all of them as one message. So the number of messages grows with nodes, not with ranks.
//
//   rank ----copy---> aggregator's slot ----> file             (same node: laid out as in the file)
//   rank ----copy---> proxy's slot ----message---> aggregator's slot  (packed, rank after rank)
//
// Reads take the same paths in the other direction. The id of a window is round * aggregators +
// aggregator.
//
// Why there is no deadlock: owners open windows in the order of their ids, and what a rank copies
// into one open window depends on no other. So the unfinished window with the least id can always
// progress.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "engine/exchanges.hpp"
#include "engine/slots.hpp"

namespace penstock {

/// The roles of ranks in one call; the same on all ranks of a node.
class NodeRoles {
 public:
  NodeRoles(const Team& team, const Plan& plan) : team_(team), plan_(plan) {}

  bool is_local(std::int64_t aggregator) const noexcept {
    return team_.node_of(plan_.rank_of(aggregator)) == team_.node();
  }
  /// The local rank whose slots take this node's bytes for `aggregator`: the aggregator itself, or
  /// its proxy.
  int owner_of(std::int64_t aggregator) const noexcept {
    return is_local(aggregator) ? team_.local_rank_of(plan_.rank_of(aggregator))
                                : proxy_on(team_.node(), aggregator);
  }
  int proxy_on(int node, std::int64_t aggregator) const noexcept {
    return static_cast<int>(aggregator % team_.size_of(node));
  }
  std::int64_t window_id(std::int64_t round, std::int64_t aggregator) const noexcept {
    return round * plan_.domains.aggregators() + aggregator;
  }
  /// An aggregator's slots come before a proxy's. `slot_bytes`: for a window.
  NodeStaging::Shape shape(std::int64_t slot_bytes) const;

 private:
  const Team& team_;
  const Plan& plan_;
};

/// Copies this rank's bytes into, or out of, the open windows.
class NodeRequester {
 public:
  NodeRequester(Context& context, const Access& access, const Plan& plan, const NodeRoles& roles);
  /// Copies to or from one window. False: none of the windows it waits for is open.
  bool progress();
  bool done() const noexcept { return left_ == 0; }

 private:
  struct Neighbour {
    std::int64_t aggregator, round;
    int owner;
    WindowStream stream;        // of the current round
    std::int64_t position = 0;  // bytes of it that have been copied
  };
  bool serve(int owner, int slot);
  void open(Neighbour& neighbour);
  void copy(const Neighbour& neighbour, const NodeStaging::Board& board,
            const NodeStaging::RankPart& range, std::byte* slot);

  Context& context_;
  const Access& access_;
  const Plan& plan_;
  const NodeRoles& roles_;
  std::vector<Neighbour> neighbours_;
  std::size_t left_ = 0;
};

/// The windows of one domain, filled by the ranks of its own node and by proxies of others.
class NodeAggregator {
 public:
  NodeAggregator(Context& context, const Access& access, const Plan& plan, const NodeRoles& roles,
                 Prepared& prepared, Slots& messages);
  NodeAggregator(const NodeAggregator&) = delete;
  /// `idle`: this rank has nothing else to do.
  bool progress(bool idle);
  void completed(int slot);
  bool done() const noexcept {
    return queue_.finished(table_) && open_.empty() && messages_.idle();
  }
  /// Waits for storage accesses in flight.
  const std::optional<Error>& finish() {
    queue_.finish_all();
    return queue_.error();
  }

 private:
  /// Another node's part of a window: streams of its ranks, one after the other.
  struct Bundle {
    int proxy;                         // rank in the communicator
    std::vector<std::size_t> sources;  // of the table
    std::int64_t bytes = 0, begun = 0;
  };
  struct OpenWindow {
    Window* window;
    int slot;
    std::vector<Bundle> bundles;
    int under_way = 0;  // messages of writes that have not arrived
    bool published = false;
  };
  struct Message {
    OpenWindow* open = nullptr;
    std::size_t bundle = 0;
    std::int64_t begin = 0, end = 0;
  };

  bool open_next(bool idle);
  bool publish_filled(bool idle);
  bool finish_oldest(bool idle);
  void publish(OpenWindow& open);
  void gather_bundles(OpenWindow& open);
  bool move_messages();
  void move_chunk(const Message& message, std::byte* packed);
  bool complete(const OpenWindow& open);
  bool flush(Window& window, bool idle);

  Context& context_;
  const Access& access_;
  const Plan& plan_;
  const NodeRoles& roles_;
  Slots& messages_;
  DomainTable& table_;
  WindowQueue& queue_;
  std::optional<Timed> short_of_room_;
  std::optional<BackgroundIo::Expedite> expedite_;
  std::optional<UnitNotifier> event_;  // for windows in the active buffer
  std::deque<OpenWindow> open_;        // oldest first
  int next_slot_ = 0;
  std::vector<Message> arriving_;  // one per message slot
};

/// Forwards the bytes of this node's ranks to aggregators on other nodes, and back.
class Proxy {
 public:
  Proxy(Context& context, const Access& access, const Plan& plan, const NodeRoles& roles,
        std::vector<DomainTable> tables, int first_slot, Slots& messages);
  bool progress();
  void completed(int slot);
  bool done() const noexcept { return !bundle_ && open_.empty() && next_table() == nullptr; }

 private:
  struct Chunk {
    std::int64_t window_id;
    int slot;                      // -1: released
    std::vector<int> local_ranks;  // local ranks with bytes in it
    int message = -1;              // in flight
    int peer = -1;                 // for a write
    std::int64_t bytes = 0;
  };
  struct BundleAtHand {  // cut into chunks of a slot
    std::int64_t aggregator, round;
    std::vector<std::int64_t> sizes;  // of the streams, per local rank
    std::int64_t bytes, begun;
  };

  DomainTable* next_table() const;
  bool open_bundle();
  bool open_chunk();
  bool advance(Chunk& chunk);
  void publish(const Chunk& chunk);

  Context& context_;
  const Access& access_;
  const Plan& plan_;
  const NodeRoles& roles_;
  Slots& messages_;
  mutable std::vector<DomainTable> tables_;
  int first_slot_, next_slot_ = 0;
  std::optional<BundleAtHand> bundle_;
  std::deque<Chunk> open_;
};

}  // namespace penstock
