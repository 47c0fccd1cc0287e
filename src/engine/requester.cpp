#include <algorithm>

#include "engine/sides.hpp"
#include "pattern/stream_copy.hpp"

namespace penstock {

Requester::Requester(Context& context, const Access& access, const Plan& plan,
                     const Neighbours& touched, Slots& slots)
    : context_(context), access_(access), plan_(plan), slots_(slots) {
  for (const std::int64_t aggregator : touched)
    // A rank's own domain is served in memory, by its Aggregator.
    if (plan.rank_of(aggregator) != context.comm.rank()) queue(aggregator, 0);
  advance();
}

/// Queues the neighbour with its first round, from `round` on, in which it has bytes.
void Requester::queue(std::int64_t aggregator, std::int64_t round) {
  round = next_round(plan_.domains, aggregator, access_.file, round);
  if (round < plan_.domains.rounds(aggregator)) neighbours_.push({round, aggregator});
}

/// Sets next_ to the following chunk, in the order of (round, aggregator).
void Requester::advance() {
  if (next_.stream && next_.end < next_.stream->size()) {
    next_.begin = next_.end;
    next_.end = std::min(next_.begin + slots_.slot_bytes(), next_.stream->size());
    return;
  }
  has_chunk_ = !neighbours_.empty();
  if (!has_chunk_) return;
  const auto [round, aggregator] = neighbours_.top();
  neighbours_.pop();
  const Extent window = plan_.domains.window(aggregator, round);
  next_.stream = std::make_shared<WindowStream>(access_.file, window);
  next_.begin = 0;
  next_.end = std::min(slots_.slot_bytes(), next_.stream->size());
  next_.peer = plan_.rank_of(aggregator);
  queue(aggregator, round + 1);
}

void Requester::post() {
  for (; has_chunk_ && slots_.has_free(); advance()) {
    const int slot = slots_.take();
    const std::int64_t bytes = next_.end - next_.begin;
    // Bytes that are contiguous in memory are sent from, or received into, user memory.
    std::byte* address = next_.stream->contiguous(access_.memory, next_.begin, next_.end);
    const bool in_place = address != nullptr;
    if (!in_place) address = slots_.bytes(slot);
    if (access_.writes()) {
      if (!in_place) copy(next_, address);
      slots_.send(slot, address, bytes, next_.peer);
      continue;
    }
    slots_.receive(slot, address, bytes, next_.peer);
    unpacking_.resize(std::max(unpacking_.size(), static_cast<std::size_t>(slot) + 1));
    if (!in_place) unpacking_[static_cast<std::size_t>(slot)] = next_;
  }
}

void Requester::completed(int slot) {
  const auto index = static_cast<std::size_t>(slot);
  if (index < unpacking_.size() && unpacking_[index]) {
    copy(*unpacking_[index], slots_.bytes(slot));
    unpacking_[index].reset();
  }
  slots_.release(slot);
}

void Requester::copy(const Chunk& chunk, std::byte* packed) const {
  const Timed watch(context_.record, Phase::copy, chunk.end - chunk.begin);
  copy_stream(*chunk.stream, access_.memory, chunk.begin, chunk.end, Staged::packed(packed),
              access_.direction);
}

}  // namespace penstock
