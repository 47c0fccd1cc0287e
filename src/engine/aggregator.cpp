#include <algorithm>
#include <limits>

#include "access/copy.hpp"
#include "access/wire.hpp"
#include "engine/sides.hpp"
#include "mpi/agree.hpp"

namespace penstock {

Aggregator::Aggregator(Context& context, const Access& access, const Plan& plan, const Hints& hints,
                       const std::vector<Letter>& letters, Slots& slots)
    : context_(context),
      access_(access),
      plan_(plan),
      slots_(slots),
      io_(context, hints, access.direction, /*exclusive=*/false),
      aggregator_(plan.aggregator_of(context.comm.rank())) {
  sources_.reserve(letters.size());
  for (const Letter& letter : letters) {
    Source source{letter.rank, from_words(letter.words), {}, 0, {}};
    source.footprint = Footprint(context.layout, source.sections);
    source.round = next_round(plan.domains, aggregator_, source.footprint, 0);
    sources_.push_back(std::move(source));
  }
  std::vector<const Section*> sections;
  for (const Source& source : sources_)
    for (const Section& section : source.sections) sections.push_back(&section);
  disjoint_ = all_disjoint(sections);
  find_round();
}

void Aggregator::find_round() {
  round_ = std::numeric_limits<std::int64_t>::max();
  for (const Source& source : sources_) round_ = std::min(round_, source.round);
  finished_ = sources_.empty() || round_ >= plan_.domains.rounds(aggregator_);
}

void Aggregator::open_window() {
  const Extent window = plan_.domains.window(aggregator_, round_);
  Extent trimmed{window.end, window.begin};
  std::vector<const WindowStream*> streams;
  for (Source& source : sources_) {
    source.stream = WindowStream();
    if (source.round != round_) continue;
    source.stream = WindowStream(source.footprint, window);
    trimmed.begin = std::min(trimmed.begin, source.footprint.next(window.begin));
    trimmed.end = std::max(trimmed.end, source.footprint.previous_end(window.end));
    streams.push_back(&source.stream);
    source.round = next_round(plan_.domains, aggregator_, source.footprint, round_ + 1);
  }
  io_.open(window, streams, trimmed, disjoint_);
  at_source_ = 0;
  at_byte_ = 0;
  window_open_ = true;
  if (access_.writes()) return;
  if (!error_) error_ = attempt([&] { io_.fill(); });
  if (error_) io_.clear();
}

void Aggregator::close_window() {
  if (access_.writes() && !error_) error_ = attempt([&] { io_.flush(); });
  window_open_ = false;
  find_round();
}

/// The next chunk of the open window, in rank order; own bytes are one chunk. Sets slot to -1.
bool Aggregator::next_chunk(Arrival& chunk) {
  while (at_source_ < sources_.size() && at_byte_ >= sources_[at_source_].stream.size()) {
    ++at_source_;
    at_byte_ = 0;
  }
  if (at_source_ == sources_.size()) return false;
  const std::int64_t size = sources_[at_source_].stream.size();
  const std::int64_t most = is_self(at_source_) ? size : slots_.slot_bytes();
  chunk = {at_source_, at_byte_, std::min(size, at_byte_ + most), -1, true};
  return true;
}

void Aggregator::post() {
  while (!finished_) {
    if (!window_open_) open_window();
    if (access_.writes()) {
      post_receives();
      overlay_arrived();
    } else {
      post_sends();
    }
    Arrival rest;
    if (next_chunk(rest) || !arrivals_.empty()) return;  // waits for slots
    close_window();
  }
}

void Aggregator::post_receives() {
  for (Arrival chunk; next_chunk(chunk); at_byte_ = chunk.end) {
    if (!is_self(chunk.source)) {
      if (!slots_.has_free()) return;
      chunk.slot = slots_.take();
      chunk.here = false;
      slots_.receive(chunk.slot, slots_.bytes(chunk.slot), chunk.end - chunk.begin,
                     sources_[chunk.source].rank);
    }
    arrivals_.push_back(chunk);
  }
}

void Aggregator::post_sends() {
  for (Arrival chunk; next_chunk(chunk); at_byte_ = chunk.end) {
    if (is_self(chunk.source)) {
      copy_own(chunk);
      continue;
    }
    if (!slots_.has_free()) return;
    const int slot = slots_.take();
    pack(chunk, slots_.bytes(slot));
    slots_.send(slot, slots_.bytes(slot), chunk.end - chunk.begin, sources_[chunk.source].rank);
  }
}

void Aggregator::completed(int slot) {
  if (!access_.writes()) return slots_.release(slot);
  for (Arrival& arrival : arrivals_)
    if (arrival.slot == slot) arrival.here = true;
  overlay_arrived();
}

/// In rank order where requests may overlap, so that the highest rank wins; else as they come.
void Aggregator::overlay_arrived() {
  for (auto arrival = arrivals_.begin(); arrival != arrivals_.end();) {
    if (!arrival->here) {
      if (!disjoint_) return;
      ++arrival;
      continue;
    }
    overlay(*arrival);
    if (arrival->slot >= 0) slots_.release(arrival->slot);
    arrival = arrivals_.erase(arrival);
  }
}

void Aggregator::overlay(const Arrival& arrival) {
  if (arrival.slot < 0) return copy_own(arrival);
  const std::byte* from = slots_.bytes(arrival.slot);
  sources_[arrival.source].stream.for_each(
      arrival.begin, arrival.end, [&](std::size_t, const Batch& b) {
        copy_runs(io_.at(b.file), b.file_step, from + b.packed, b.run, b.run, b.count);
      });
}

/// This rank's own bytes go between user memory and staging buffer without a message.
void Aggregator::copy_own(const Arrival& arrival) {
  const WindowStream mine(access_.both, plan_.domains.window(aggregator_, round_));
  mine.for_each(arrival.begin, arrival.end, [&](std::size_t section, const Batch& b) {
    std::byte* const in_memory = access_.memory[section] + b.memory;
    if (access_.writes())
      copy_runs(io_.at(b.file), b.file_step, in_memory, b.memory_step, b.run, b.count);
    else copy_runs(in_memory, b.memory_step, io_.at(b.file), b.file_step, b.run, b.count);
  });
}

void Aggregator::pack(const Arrival& chunk, std::byte* to) {
  sources_[chunk.source].stream.for_each(chunk.begin, chunk.end, [&](std::size_t, const Batch& b) {
    copy_runs(to + b.packed, b.run, io_.at(b.file), b.file_step, b.run, b.count);
  });
}

}  // namespace penstock
