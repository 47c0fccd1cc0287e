#include "trace/recorder.hpp"

#include <algorithm>
#include <span>

namespace penstock {
namespace {

/// The sum in Statistics; null: none.
double* sum_of(Phase phase, Statistics& counts) noexcept {
  switch (phase) {
    case Phase::plan: return &counts.time_plan;
    case Phase::exchange: return &counts.time_exchange;
    case Phase::copy: return &counts.time_copy;
    case Phase::storage: return &counts.time_storage;
    case Phase::wait: return &counts.time_wait;
    case Phase::room: return &counts.time_room;
    default: break;
  }
  return nullptr;
}

}  // namespace

double* TimeParts::of(Phase phase) noexcept {
  switch (phase) {
    case Phase::plan: return &plan;
    case Phase::exchange: return &exchange;
    case Phase::copy: return &copy;
    case Phase::storage: return &storage;
    case Phase::wait: return &wait;
    case Phase::room: return &room;
    default: break;
  }
  return nullptr;
}

TimeParts& TimeParts::operator+=(const TimeParts& more) noexcept {
  plan += more.plan;
  exchange += more.exchange;
  copy += more.copy;
  storage += more.storage;
  wait += more.wait;
  room += more.room;
  return *this;
}

/// Assigns the time since the last event to the innermost phase.
void Recorder::settle(Span::Clock::time_point now) noexcept {
  const std::span<const Phase> under_way(under_way_.data(), under_way_count_);
  if (!under_way.empty()) {
    Phase phase = under_way.back();
    if (phase == Phase::wait && std::ranges::count(under_way, Phase::room) > 0) phase = Phase::room;
    *parts.of(phase) += std::chrono::duration<double>(now - settled_).count();
  }
  settled_ = now;
}

void Recorder::begin_part(Phase phase, Span::Clock::time_point now) noexcept {
  if (parts.of(phase) == nullptr || under_way_count_ == under_way_.size()) return;
  settle(now);
  under_way_[under_way_count_++] = phase;
}

void Recorder::end_part(Phase phase, Span::Clock::time_point now) noexcept {
  const std::span<Phase> under_way(under_way_.data(), under_way_count_);
  const auto newest = std::ranges::find(under_way.rbegin(), under_way.rend(), phase);
  if (newest == under_way.rend()) return;
  settle(now);
  std::copy(newest.base(), under_way.end(), newest.base() - 1);
  --under_way_count_;
}

void Recorder::add(Span span) noexcept {
  if (double* const sum = sum_of(span.phase, counts)) *sum += span.seconds();
  if (listener_ == nullptr) return;
  span.operation = operation_;
  listener_->take(span);
}

}  // namespace penstock
