#include <algorithm>
#include <utility>

#include "engine/sides.hpp"
#include "pattern/stream_copy.hpp"

namespace penstock {

Aggregator::Aggregator(Context& context, const Access& access, Prepared& prepared, Slots& slots)
    : context_(context),
      access_(access),
      slots_(slots),
      table_(*prepared.table),
      queue_(*prepared.queue) {
  next_window();
}

/// Null if no round is left. A read is in progress when this returns.
Window* Aggregator::open_window() {
  return queue_.finished(table_) ? nullptr : &queue_.open(table_);
}

void Aggregator::next_window() {
  current_ = ahead_ != nullptr ? std::exchange(ahead_, nullptr) : open_window();
  at_source_ = 0;
  at_byte_ = 0;
  if (current_ == nullptr) {
    queue_.finish_all();
    finished_ = true;
    return;
  }
  if (access_.writes()) return;
  queue_.finish(*current_);
  if (queue_.deep()) ahead_ = open_window();
}

/// The next chunk of the open window, in rank order; this rank's own bytes are one chunk. Sets slot
/// to -1.
bool Aggregator::next_chunk(Arrival& chunk) {
  while (at_source_ < current_->streams.size() &&
         at_byte_ >= current_->streams[at_source_].size()) {
    ++at_source_;
    at_byte_ = 0;
  }
  if (at_source_ == current_->streams.size()) return false;
  const std::int64_t size = current_->streams[at_source_].size();
  const std::int64_t most = is_self(at_source_) ? size : slots_.slot_bytes();
  chunk = {at_source_, at_byte_, std::min(size, at_byte_ + most), -1, true};
  return true;
}

void Aggregator::post() {
  while (!finished_) {
    if (access_.writes()) {
      post_receives();
      overlay_arrived();
    } else {
      post_sends();
    }
    Arrival rest;
    if (next_chunk(rest) || !arrivals_.empty()) return;  // wait for slots
    if (access_.writes()) queue_.start_flush(*current_);
    next_window();
  }
}

void Aggregator::post_receives() {
  for (Arrival chunk; next_chunk(chunk); at_byte_ = chunk.end) {
    if (!is_self(chunk.source)) {
      if (!slots_.has_free()) return;
      chunk.slot = slots_.take();
      chunk.here = false;
      slots_.receive(chunk.slot, slots_.bytes(chunk.slot), chunk.end - chunk.begin,
                     table_.sources()[chunk.source].rank);
    }
    arrivals_.push_back(chunk);
  }
}

void Aggregator::post_sends() {
  for (Arrival chunk; next_chunk(chunk); at_byte_ = chunk.end) {
    if (is_self(chunk.source)) {
      copy_own_bytes(context_, access_, *current_);
      continue;
    }
    if (!slots_.has_free()) return;
    const int slot = slots_.take();
    copy(chunk, slots_.bytes(slot));
    slots_.send(slot, slots_.bytes(slot), chunk.end - chunk.begin,
                table_.sources()[chunk.source].rank);
  }
}

void Aggregator::completed(int slot) {
  if (!access_.writes()) return slots_.release(slot);
  for (Arrival& arrival : arrivals_)
    if (arrival.slot == slot) arrival.here = true;
  overlay_arrived();
}

/// In rank order where requests may overlap, so that the highest rank wins; otherwise in order of
/// arrival.
void Aggregator::overlay_arrived() {
  for (auto arrival = arrivals_.begin(); arrival != arrivals_.end();) {
    if (!arrival->here) {
      if (!table_.any_order()) return;
      ++arrival;
      continue;
    }
    overlay(*arrival);
    if (arrival->slot >= 0) slots_.release(arrival->slot);
    arrival = arrivals_.erase(arrival);
  }
}

void Aggregator::overlay(const Arrival& arrival) {
  if (arrival.slot < 0) return copy_own_bytes(context_, access_, *current_);
  copy(arrival, slots_.bytes(arrival.slot));
}

void Aggregator::copy(const Arrival& chunk, std::byte* packed) {
  const Timed watch(context_.record, Phase::copy, chunk.end - chunk.begin, current_->extent.begin);
  copy_staged(current_->streams[chunk.source], chunk.begin, chunk.end, current_->io().staged(),
              packed, access_.direction);
}

void copy_own_bytes(Context& context, const Access& access, Window& window) {
  const WindowStream mine(access.file, window.extent);
  const Timed watch(context.record, Phase::copy, mine.size(), window.extent.begin);
  copy_stream(mine, access.memory, 0, mine.size(), window.io().staged(), access.direction);
}

}  // namespace penstock
