#include <algorithm>

#include "engine/node.hpp"
#include "pattern/stream_copy.hpp"

namespace penstock {

NodeAggregator::NodeAggregator(Context& context, const Access& access, const Plan& plan,
                               const NodeRoles& roles, Prepared& prepared, Slots& messages)
    : context_(context),
      access_(access),
      plan_(plan),
      roles_(roles),
      messages_(messages),
      table_(*prepared.table),
      queue_(*prepared.queue) {
  if (queue_.buffered()) event_.emplace(context);
}

bool NodeAggregator::progress(bool idle) {
  // Storage first: a finished write frees a slot.
  bool moved = finish_oldest(idle);
  moved = open_next(idle) || moved;
  moved = publish_filled(idle) || moved;
  return move_messages() || moved;
}

bool NodeAggregator::open_next(bool idle) {
  if (queue_.finished(table_) || static_cast<int>(open_.size()) == plan_.depth) return false;
  // The previous window in this slot is still being written or read.
  if (!idle && !queue_.next_is_free()) return false;
  // Without memory for a window this rank continues with others' bytes. If no unit is queued, no
  // I/O thread would wake it: then open() gets memory at once.
  if (queue_.must_wait() && !(open_.empty() && context_.background.memory().nothing_queued())) {
    if (!short_of_room_) {
      ++context_.record.counts.buffer_waits;
      short_of_room_.emplace(context_.record, Phase::room);
      expedite_.emplace(context_.background);
    }
    return false;
  }
  short_of_room_.reset();
  expedite_.reset();
  const int slot = next_slot_;
  next_slot_ = (next_slot_ + 1) % plan_.depth;
  Window& window =
      queue_.open(table_, context_.file.staging.bytes(context_.comm.team()->rank(), slot));
  open_.push_back({&window, slot, {}, 0});
  if (access_.writes()) publish(open_.back());
  return true;
}

/// For a read: the oldest window that has been filled since.
bool NodeAggregator::publish_filled(bool idle) {
  const auto open = std::ranges::find(open_, false, &OpenWindow::published);
  if (open == open_.end() || (!idle && !open->window->is_done())) return false;
  queue_.finish(*open->window);
  publish(*open);
  return true;
}

void NodeAggregator::publish(OpenWindow& open) {
  open.published = true;
  gather_bundles(open);
  Team& team = *context_.comm.team();
  NodeStaging::Board& board = context_.file.staging.board(team.rank(), open.slot);
  NodeStaging::RankPart* const ranges = board.ranges();
  const bool in_turn = access_.writes() && !table_.any_order();
  std::vector<int> copying;  // local ranks, ascending
  for (std::size_t i = 0; i < table_.sources().size(); ++i) {
    const std::int64_t bytes = open.window->streams[i].size();
    const int rank = table_.sources()[i].rank;
    if (bytes == 0 || team.node_of(rank) != team.node()) continue;
    const int local_rank = team.local_rank_of(rank);
    NodeStaging::RankPart& range = ranges[local_rank];
    range.begin = 0;
    range.end = bytes;
    range.slot_offset = -1;
    range.next = NodeStaging::anyone;
    if (!copying.empty()) ranges[copying.back()].next = local_rank;
    copying.push_back(local_rank);
  }
  board.in_arena = open.window->io().in_active_buffer();
  if (board.in_arena) board.image = open.window->io().image();
  board.missing.store(static_cast<std::int32_t>(copying.size()), std::memory_order_relaxed);
  board.turn.store(in_turn && !copying.empty() ? copying.front() : NodeStaging::anyone,
                   std::memory_order_relaxed);
  const std::int64_t window_id = roles_.window_id(open.window->round, table_.aggregator());
  // The first in turn order last: the others are woken by their predecessor, and look only then.
  for (auto local_rank = copying.rbegin(); local_rank != copying.rend(); ++local_rank) {
    ranges[*local_rank].window_id.store(window_id, std::memory_order_release);
    context_.file.staging.mark_ready(*local_rank, team.rank(), open.slot);
    if (*local_rank != team.rank() && (!in_turn || *local_rank == copying.front()))
      team.notify(*local_rank);
  }
}

bool NodeAggregator::complete(const OpenWindow& open) {
  const NodeStaging::Board& board =
      context_.file.staging.board(context_.comm.team()->rank(), open.slot);
  const auto begun = [](const Bundle& bundle) { return bundle.begun == bundle.bytes; };
  return board.missing.load(std::memory_order_acquire) == 0 && open.under_way == 0 &&
         std::all_of(open.bundles.begin(), open.bundles.end(), begun);
}

bool NodeAggregator::finish_oldest(bool idle) {
  if (open_.empty() || !open_.front().published || !complete(open_.front())) return false;
  OpenWindow& open = open_.front();
  if (access_.writes() && !flush(*open.window, idle)) return false;
  open_.pop_front();
  return true;
}

/// False: too many other ranks access storage at present; this rank continues copying.
bool NodeAggregator::flush(Window& window, bool idle) {
  if (queue_.completes_later()) {
    queue_.start_flush(window);
    return true;
  }
  Team& team = *context_.comm.team();
  const int most = plan_.writers > 0 ? plan_.writers : plan_.take_turns ? 1 : 0;
  const bool held = most > 0 && team.try_permit(most);
  // Unless `writers=` limits the writers, a permit is optional: a rank with nothing else to do
  // writes without one, since the kernel's lock of the file passes to it sooner than a wake-up
  // would.
  if (most > 0 && !held && (plan_.writers > 0 || !idle)) return false;
  queue_.start_flush(window);
  queue_.finish(window);
  if (held) team.return_permit();
  return true;
}

void NodeAggregator::gather_bundles(OpenWindow& open) {
  const Team& team = *context_.comm.team();
  if (team.nodes() == 1) return;
  std::vector<int> nodes;
  for (std::size_t i = 0; i < table_.sources().size(); ++i) {
    const std::int64_t bytes = open.window->streams[i].size();
    const int node = team.node_of(table_.sources()[i].rank);
    if (bytes == 0 || node == team.node()) continue;
    const auto known = std::find(nodes.begin(), nodes.end(), node);
    const auto at = static_cast<std::size_t>(known - nodes.begin());
    if (known == nodes.end()) {
      nodes.push_back(node);
      open.bundles.push_back(
          {team.rank_at(node, roles_.proxy_on(node, table_.aggregator())), {}, 0, 0});
    }
    open.bundles[at].sources.push_back(i);
    open.bundles[at].bytes += bytes;
  }
}

/// Posts as many messages as there are slots, the oldest window first.
bool NodeAggregator::move_messages() {
  bool moved = false;
  for (OpenWindow& open : open_)
    for (std::size_t b = 0; b < open.bundles.size(); ++b)
      for (Bundle& bundle = open.bundles[b]; bundle.begun < bundle.bytes; moved = true) {
        if (!messages_.has_free()) return moved;
        const int slot = messages_.take();
        const Message message{&open, b, bundle.begun,
                              std::min(bundle.bytes, bundle.begun + messages_.slot_bytes())};
        bundle.begun = message.end;
        const std::int64_t bytes = message.end - message.begin;
        if (access_.writes()) {
          arriving_.resize(std::max(arriving_.size(), static_cast<std::size_t>(slot) + 1));
          arriving_[static_cast<std::size_t>(slot)] = message;
          ++open.under_way;
          messages_.receive(slot, messages_.bytes(slot), bytes, bundle.proxy);
        } else {
          move_chunk(message, messages_.bytes(slot));
          messages_.send(slot, messages_.bytes(slot), bytes, bundle.proxy);
        }
      }
  return moved;
}

void NodeAggregator::completed(int slot) {
  if (access_.writes()) {
    const Message message = arriving_[static_cast<std::size_t>(slot)];
    move_chunk(message, messages_.bytes(slot));
    --message.open->under_way;
  }
  messages_.release(slot);
}

/// Copies a bundle's bytes between its packed form and the window.
void NodeAggregator::move_chunk(const Message& message, std::byte* packed) {
  const Timed watch(context_.record, Phase::copy, message.end - message.begin,
                    message.open->window->extent.begin);
  std::int64_t start = 0;  // of the source's stream within the bundle
  for (const std::size_t i : message.open->bundles[message.bundle].sources) {
    const WindowStream& stream = message.open->window->streams[i];
    const std::int64_t from = std::max(message.begin, start);
    const std::int64_t to = std::min(message.end, start + stream.size());
    std::byte* const address = packed + (from - message.begin);
    if (from < to)
      copy_staged(stream, from - start, to - start, message.open->window->io().staged(), address,
                  access_.direction);
    start += stream.size();
  }
}

}  // namespace penstock
