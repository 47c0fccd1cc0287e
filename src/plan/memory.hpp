// What a plan costs an aggregator in staging memory. Pure.
#pragma once

#include "base/buffer.hpp"
#include "plan/plan.hpp"

namespace penstock {

/// Room for a window at a page boundary whose first byte lies in its page as it does in the file.
/// Buffers of a few pages, of which O_DIRECT could make no use, have no page to spare.
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

/// Of a window in a node's staging memory: a power of two, so that calls of different sizes seldom
/// need more than there is, and the buffer at most. Between nodes the buffer: what a proxy passes
/// on is longer than a window where ranks want the same bytes.
std::int64_t staged_bytes(const Plan& plan) noexcept;

/// Room for reading holes; one for all windows of a rank, since one is written at a time.
std::int64_t sieve_bytes(std::int64_t buffer_size) noexcept;

/// Staging memory of a rank at most. From `least_buffer` on it is below twice the buffer.
struct StagingBound {
  static constexpr std::int64_t least_buffer = 512;
  std::int64_t windows, coverage, sieve, messages;
  std::int64_t total() const noexcept { return windows + coverage + sieve + messages; }
};

/// Of a plan by the exchange `node` or `sparse`; those in step hold a round's parcels instead.
StagingBound staging_bound(const Plan& plan, std::int64_t buffer_size) noexcept;

/// Memory that a rank may take for an exchange, once its call has begun: staging, the descriptors
/// of the others, and what little there is besides. Windows that lie in memory of the node or in
/// the active buffer are left out.
std::int64_t exchange_memory(const Plan& plan, const Demand& all,
                             std::int64_t buffer_size) noexcept;

}  // namespace penstock
