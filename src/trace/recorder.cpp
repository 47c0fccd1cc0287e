#include "trace/recorder.hpp"

namespace penstock {
namespace {

/// Where Statistics have the sum; null: nowhere.
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

void Recorder::add(Span span) noexcept {
  if (double* const sum = sum_of(span.phase, counts)) *sum += span.seconds();
  if (listener_ == nullptr) return;
  span.operation = operation_;
  listener_->take(span);
}

}  // namespace penstock
