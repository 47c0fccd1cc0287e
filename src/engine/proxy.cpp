#include <algorithm>

#include "engine/node.hpp"

namespace penstock {

Proxy::Proxy(Context& context, const Access& access, const Plan& plan, const NodeRoles& roles,
             std::vector<DomainTable> tables, int first_slot, Slots& messages)
    : context_(context),
      access_(access),
      plan_(plan),
      roles_(roles),
      messages_(messages),
      tables_(std::move(tables)),
      first_slot_(first_slot) {}

bool Proxy::progress() {
  bool moved = false;
  for (Chunk& chunk : open_) {
    const bool progressed = advance(chunk);
    moved = moved || progressed;
    // Messages to one aggregator must be sent in the order in which it expects them.
    if (access_.writes() && !progressed && chunk.slot >= 0 && chunk.message < 0) break;
  }
  while (!open_.empty() && open_.front().slot < 0) open_.pop_front();
  return open_chunk() || moved;
}

/// The table whose next window has the least id.
DomainTable* Proxy::next_table() const {
  DomainTable* least = nullptr;
  for (DomainTable& table : tables_)
    if (!table.finished() &&
        (least == nullptr || roles_.window_id(table.round(), table.aggregator()) <
                                 roles_.window_id(least->round(), least->aggregator())))
      least = &table;
  return least;
}

bool Proxy::open_bundle() {
  DomainTable* const table = next_table();
  if (table == nullptr) return false;
  const Team& team = *context_.comm.team();
  bundle_.emplace(BundleAtHand{table->aggregator(), table->round(), {}, 0, 0});
  bundle_->sizes.assign(static_cast<std::size_t>(team.size()), 0);
  std::vector<WindowStream> streams;
  table->take(streams);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    bundle_->sizes[static_cast<std::size_t>(team.local_rank_of(table->sources()[i].rank))] =
        streams[i].size();
    bundle_->bytes += streams[i].size();
  }
  return true;
}

bool Proxy::open_chunk() {
  if (static_cast<int>(open_.size()) == plan_.depth || (!bundle_ && !open_bundle())) return false;
  Team& team = *context_.comm.team();
  const int slot = first_slot_ + next_slot_;
  next_slot_ = (next_slot_ + 1) % plan_.depth;
  const std::int64_t begin = bundle_->begun;
  const std::int64_t end = std::min(bundle_->bytes, begin + messages_.slot_bytes());
  NodeStaging::Board& board = context_.file.staging.board(team.rank(), slot);
  board.in_arena = false;
  Chunk chunk{roles_.window_id(bundle_->round, bundle_->aggregator), slot, {}};
  std::int64_t start = 0;
  for (int local_rank = 0; local_rank < team.size(); ++local_rank) {
    const std::int64_t size = bundle_->sizes[static_cast<std::size_t>(local_rank)];
    const std::int64_t from = std::max(begin, start), to = std::min(end, start + size);
    if (from < to) {
      NodeStaging::RankPart& range = board.ranges()[local_rank];
      range.begin = from - start;
      range.end = to - start;
      range.slot_offset = from - begin;
      range.next = NodeStaging::anyone;
      chunk.local_ranks.push_back(local_rank);
    }
    start += size;
  }
  board.missing.store(static_cast<std::int32_t>(chunk.local_ranks.size()),
                      std::memory_order_relaxed);
  board.turn.store(NodeStaging::anyone, std::memory_order_relaxed);
  const int peer = plan_.rank_of(bundle_->aggregator);
  if (access_.writes()) {
    publish(chunk);
    chunk.peer = peer;
    chunk.bytes = end - begin;
  } else {
    chunk.message = messages_.take();
    messages_.receive(chunk.message, context_.file.staging.bytes(team.rank(), slot), end - begin,
                      peer);
  }
  open_.push_back(std::move(chunk));
  bundle_->begun = end;
  if (end == bundle_->bytes) bundle_.reset();
  return true;
}

void Proxy::publish(const Chunk& chunk) {
  Team& team = *context_.comm.team();
  NodeStaging::Board& board = context_.file.staging.board(team.rank(), chunk.slot);
  for (const int local_rank : chunk.local_ranks) {
    board.ranges()[local_rank].window_id.store(chunk.window_id, std::memory_order_release);
    context_.file.staging.mark_ready(local_rank, team.rank(), chunk.slot);
    if (local_rank != team.rank()) team.notify(local_rank);
  }
}

/// Once all ranks have copied: a write sends the slot, a read releases it.
bool Proxy::advance(Chunk& chunk) {
  if (chunk.slot < 0 || chunk.message >= 0) return false;
  Team& team = *context_.comm.team();
  NodeStaging::Board& board = context_.file.staging.board(team.rank(), chunk.slot);
  if (board.missing.load(std::memory_order_acquire) != 0) return false;
  if (!access_.writes()) {
    chunk.slot = -1;
    return true;
  }
  chunk.message = messages_.take();
  messages_.send(chunk.message, context_.file.staging.bytes(team.rank(), chunk.slot), chunk.bytes,
                 chunk.peer);
  return true;
}

void Proxy::completed(int message) {
  messages_.release(message);
  for (Chunk& chunk : open_) {
    if (chunk.message != message) continue;
    chunk.message = -1;
    if (access_.writes()) chunk.slot = -1;
    else publish(chunk);
  }
}

}  // namespace penstock
