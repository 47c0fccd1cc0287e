#include <algorithm>

#include "engine/node.hpp"
#include "pattern/copy.hpp"
#include "pattern/stream_copy.hpp"

namespace penstock {

NodeStaging::Shape NodeRoles::shape(std::int64_t slot_bytes) const {
  NodeStaging::Shape shape;
  shape.slots.assign(static_cast<std::size_t>(team_.size()), 0);
  // Windows of a buffered write lie in the active buffers; only proxies need slots then.
  if (!plan_.buffered || team_.nodes() > 1) shape.slot_bytes = slot_bytes;
  std::vector<bool> proxy(shape.slots.size(), false);
  for (std::int64_t a = 0; a < plan_.domains.aggregators(); ++a) {
    const auto owner = static_cast<std::size_t>(owner_of(a));
    if (!is_local(a)) proxy[owner] = true;
    else shape.slots[owner] = plan_.depth;
  }
  for (std::size_t local_rank = 0; local_rank < proxy.size(); ++local_rank)
    if (proxy[local_rank]) shape.slots[local_rank] += plan_.depth;
  return shape;
}

NodeRequester::NodeRequester(Context& context, const Access& access, const Plan& plan,
                             const NodeRoles& roles)
    : context_(context), access_(access), plan_(plan), roles_(roles) {
  for (const std::int64_t aggregator : touched_aggregators(plan.domains, access.file)) {
    neighbours_.push_back({aggregator, 0, roles.owner_of(aggregator), {}, 0});
    ++left_;
    open(neighbours_.back());
  }
}

/// Finds this rank's bytes in the neighbour's next round.
void NodeRequester::open(Neighbour& n) {
  n.round = next_round(plan_.domains, n.aggregator, access_.file, n.round);
  n.position = 0;
  if (n.round < plan_.domains.rounds(n.aggregator))
    n.stream = WindowStream(access_.file, plan_.domains.window(n.aggregator, n.round));
  else --left_;
}

bool NodeRequester::progress() {
  return context_.file.staging.for_each_ready(
      context_.comm.team()->rank(), [&](int owner, int slot) { return serve(owner, slot); });
}

/// False: it is not this rank's turn in that window.
bool NodeRequester::serve(int owner, int slot) {
  Team& team = *context_.comm.team();
  NodeStaging& staging = context_.file.staging;
  NodeStaging::Board& board = staging.board(owner, slot);
  NodeStaging::RankPart& range = board.ranges()[team.rank()];
  const std::int64_t window_id = range.window_id.load(std::memory_order_acquire);
  const std::int32_t turn = board.turn.load(std::memory_order_acquire);
  if (turn != NodeStaging::anyone && turn != team.rank()) return false;
  const std::int64_t aggregator = window_id % plan_.domains.aggregators();
  Neighbour& n = *std::lower_bound(
      neighbours_.begin(), neighbours_.end(), aggregator,
      [](const Neighbour& neighbour, std::int64_t a) { return neighbour.aggregator < a; });
  // A chunk of a bundle, after one that has not been copied yet.
  if (roles_.window_id(n.round, aggregator) != window_id || range.begin != n.position) return false;
  copy(n, board, range, staging.bytes(owner, slot));
  if (turn != NodeStaging::anyone && range.next != NodeStaging::anyone) {
    board.turn.store(range.next, std::memory_order_release);
    team.notify(range.next);
  }
  n.position = range.end;
  // From here on the range belongs to its owner.
  staging.unmark_ready(team.rank(), owner, slot);
  range.window_id.store(NodeStaging::no_window, std::memory_order_relaxed);
  if (board.missing.fetch_sub(1, std::memory_order_acq_rel) == 1 && owner != team.rank())
    team.notify(owner);
  if (n.position == n.stream.size()) {
    ++n.round;
    open(n);
  }
  return true;
}

void NodeRequester::copy(const Neighbour& n, const NodeStaging::Board& board,
                         const NodeStaging::RankPart& range, std::byte* slot) {
  const Extent window = plan_.domains.window(n.aggregator, n.round);
  const Timed watch(context_.record, Phase::copy, range.end - range.begin, window.begin);
  const bool past_cache = access_.file.bytes() >= larger_than_caches;
  const bool image = range.slot_offset < 0;
  Staged staged = Staged::packed(slot + range.slot_offset);
  if (board.in_arena) staged = Staged::as_in_file(context_.file.arenas.base(n.owner), -board.image);
  else if (image)
    staged = Staged::as_in_file(slot + lead(window.begin, plan_.domains.buffer()), window.begin);
  // Slots stay in the CPU cache until they are written; units and user memory may not.
  copy_stream(n.stream, access_.memory, range.begin, range.end, staged, access_.direction,
              past_cache && (board.in_arena || !access_.writes()));
}

}  // namespace penstock
