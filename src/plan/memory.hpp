// The staging memory that a plan needs on an aggregator. Pure.
#pragma once

#include "base/buffer.hpp"
#include "plan/plan.hpp"

namespace penstock {

/// Room for a window in page-aligned memory at the same offset within a page as in the file.
/// Buffers of a few pages, which gain nothing from O_DIRECT, get no extra page.
constexpr std::int64_t lead_room(std::int64_t window_bytes) noexcept {
  return window_bytes < 64 * 1024 ? 0 : Buffer::page;
}

/// Message slots of each side of the sparse exchange. Small buffers get few slots, so that messages
/// do not become tiny.
struct SlotSize {
  int count;
  std::int64_t bytes;

  static SlotSize of(const Plan& plan) noexcept;
  std::int64_t total() const noexcept { return count * bytes; }
};

/// The size of a window in a node's staging memory: a power of two, at most the buffer, so that
/// calls of different sizes seldom need more than there is. Between nodes the buffer: what a proxy
/// passes on is longer than a window if ranks want the same bytes.
std::int64_t staged_bytes(const Plan& plan) noexcept;

/// Room for reading holes; one for all windows of a rank, since one is written at a time.
std::int64_t sieve_bytes(std::int64_t buffer_size) noexcept;

/// Upper bound of a rank's staging memory. From `least_buffer` on it is below twice the buffer.
struct StagingBound {
  static constexpr std::int64_t least_buffer = 512;
  std::int64_t windows, coverage, sieve, messages;
  std::int64_t total() const noexcept { return windows + coverage + sieve + messages; }
};

/// For plans with the exchange `node` or `sparse`; those in step hold a round's parcels instead.
StagingBound staging_bound(const Plan& plan, std::int64_t buffer_size) noexcept;

/// Memory that a rank may allocate for an exchange once its call has begun: staging, the
/// descriptors of the others, and small objects. Windows in shared memory or in the active buffer
/// are not included.
std::int64_t exchange_memory(const Plan& plan, const Demand& all,
                             std::int64_t buffer_size) noexcept;

}  // namespace penstock
