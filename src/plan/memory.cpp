#include "plan/memory.hpp"

#include <algorithm>
#include <bit>

namespace penstock {

SlotSize SlotSize::of(const Plan& plan) noexcept {
  constexpr std::int64_t small = 64 * 1024, shortest = 64;
  constexpr std::int64_t longest = std::int64_t{1} << 30;  // MPI counts are ints
  const std::int64_t windows = plan.domains.buffer() * plan.depth;
  if (windows < small) return {2, std::max(shortest, windows / 8)};
  return {5, std::min(longest, windows / 16)};
}

std::int64_t staged_bytes(const Plan& plan) noexcept {
  const std::int64_t buffer = plan.domains.buffer();
  if (plan.machine.nodes > 1) return buffer;
  const auto longest = static_cast<std::uint64_t>(plan.domains.longest_window());
  return std::min(buffer, static_cast<std::int64_t>(std::bit_ceil(longest)));
}

std::int64_t sieve_bytes(std::int64_t buffer_size) noexcept {
  return std::max<std::int64_t>(1, buffer_size / 8);
}

StagingBound staging_bound(const Plan& plan, std::int64_t buffer_size) noexcept {
  const std::int64_t window = plan.domains.buffer();
  const bool bundles = plan.exchange == Exchange::node && plan.machine.nodes > 1;
  const std::int64_t slots = plan.depth * (bundles ? 2 : 1);  // a proxy has as many again
  StagingBound bound{};
  bound.windows = slots * (window + lead_room(window));
  bound.coverage = plan.depth * ((window + 63) / 64 * 8);
  bound.sieve = sieve_bytes(buffer_size);
  if (bundles) bound.messages = std::min(2, plan.depth) * window;
  // Overlapping writes of several nodes use `sparse`.
  if (bundles || plan.exchange == Exchange::sparse)
    bound.messages = std::max(bound.messages, 2 * SlotSize::of(plan).total());
  return bound;
}

std::int64_t exchange_memory(const Plan& plan, const Demand& all,
                             std::int64_t buffer_size) noexcept {
  constexpr std::int64_t besides = 1 << 20;
  const StagingBound bound = staging_bound(plan, buffer_size);
  const std::int64_t window = std::min(plan.domains.buffer(), plan.domains.longest_window());
  const bool elsewhere = plan.buffered || plan.exchange == Exchange::node;
  const bool in_step = plan.exchange != Exchange::node && plan.exchange != Exchange::sparse;
  std::int64_t bytes = besides + bound.coverage + bound.sieve + bound.messages;
  if (!elsewhere) bytes += plan.depth * (window + lead_room(window));
  // The parcels of a round, sent and received.
  if (in_step) bytes += window + std::min(all.bytes, plan.domains.aggregators() * window);
  // As words, decoded, and in the tables that are made of them.
  constexpr std::int64_t copies = 4 * static_cast<std::int64_t>(sizeof(std::int64_t));
  return bytes + copies * all.words * plan.machine.ranks;
}

}  // namespace penstock
