// Cost of planning: time and memory of one rank's share, for 1,000 to 100,000 ranks in one process,
// and for a cyclic section of 10^9 runs. Counts bytes by replacing operator new.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>

#include <penstock/distribution.hpp>

#include "array/lower.hpp"
#include "plan/plan.hpp"

using namespace penstock;

namespace {
std::int64_t live_bytes = 0, peak_bytes = 0;
}

// The size is stored before each block: there is no portable way to get it from malloc.
void* operator new(std::size_t size) {
  auto* block = static_cast<std::size_t*>(std::malloc(size + 16));
  if (block == nullptr) throw std::bad_alloc();
  *block = size;
  live_bytes += static_cast<std::int64_t>(size);
  peak_bytes = std::max(peak_bytes, live_bytes);
  return reinterpret_cast<char*>(block) + 16;
}
void operator delete(void* pointer) noexcept {
  if (pointer == nullptr) return;
  auto* block = reinterpret_cast<std::size_t*>(static_cast<char*>(pointer) - 16);
  live_bytes -= static_cast<std::int64_t>(*block);
  std::free(block);
}
void operator delete(void* pointer, std::size_t) noexcept {
  operator delete(pointer);
}

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Cost {
  double seconds = 0;
  std::int64_t bytes = 0;  // peak
};

/// Everything that one rank does before its first byte moves: locate, plan, find its aggregators
/// and the first round with each.
Cost plan_one_rank(const ArrayLayout& layout, const Section& section, const Demand& all,
                   const Hints& hints, const Machine& machine) {
  peak_bytes = live_bytes;
  const std::int64_t before = live_bytes;
  const double begin = now();
  const Footprint footprint = lower(layout, std::span(&section, 1));
  const Plan plan = make_plan(layout.units(), all, hints, machine);
  std::int64_t bytes = 0;
  for (const std::int64_t aggregator : touched_aggregators(plan.domains, footprint))
    bytes += footprint.bytes_in(
        plan.domains.window(aggregator, next_round(plan.domains, aggregator, footprint, 0)));
  const double seconds = now() - begin;
  if (bytes < 0) std::abort();  // keeps the work from being optimised away
  return {seconds, peak_bytes - before};
}

/// All ranks of one run, one after the other: mean time, largest memory.
Cost plan_all_ranks(std::int64_t ranks, std::int64_t aggregators) {
  // About a MiB of doubles a rank, in blocks of all three dimensions.
  std::int64_t edge = 64;
  while (edge * edge * edge < ranks * 131072) edge += 64;
  const ArrayLayout layout{{edge, edge, edge}, 8, Order::c, 0};
  const Distribution distribution(layout.shape, ranks, {{}, {}, {}});
  Demand all;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const Section section = distribution.share(rank).section;
    all.join(Demand::of(lower(layout, std::span(&section, 1))));
  }
  Hints hints;
  hints.aggregators = aggregators;
  Cost total;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const Section section = distribution.share(rank).section;
    const Cost one = plan_one_rank(layout, section, all, hints, {static_cast<int>(ranks), 1});
    total.seconds += one.seconds / static_cast<double>(ranks);
    total.bytes = std::max(total.bytes, one.bytes);
  }
  return total;
}

void billion_runs() {
  // 10^9 runs of 4 bytes: every fourth element of 4 * 10^9.
  const ArrayLayout layout{{4000000000}, 4, Order::c, 0};
  const Section section{{1, 4000000000, 4}};
  const Demand all = Demand::of(lower(layout, std::span(&section, 1)));
  Hints hints;
  hints.method = Method::extended;
  Cost worst;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const Cost cost = plan_one_rank(layout, section, all, hints, {4, 4});
    worst = {std::max(worst.seconds, cost.seconds), std::max(worst.bytes, cost.bytes)};
  }
  std::printf("cyclic section, %lld runs: %.1f us, %lld bytes (limits: 1000 us, 1048576 bytes)\n",
              static_cast<long long>(all.runs), worst.seconds * 1e6,
              static_cast<long long>(worst.bytes));
  if (worst.seconds > 1e-3 || worst.bytes > 1 << 20) std::exit(1);
}

}  // namespace

int main() {
  billion_runs();
  std::printf("\nblock x 3, one rank's share of the plan (mean time, largest memory):\n");
  std::printf("%8s %12s %12s %14s\n", "ranks", "aggregators", "us per rank", "bytes per rank");
  for (const std::int64_t per_aggregator : {64, 8})
    for (const std::int64_t ranks : {1000, 3000, 10000, 30000, 100000}) {
      const Cost cost = plan_all_ranks(ranks, ranks / per_aggregator);
      std::printf("%8lld %12lld %12.2f %14lld\n", static_cast<long long>(ranks),
                  static_cast<long long>(ranks / per_aggregator), cost.seconds * 1e6,
                  static_cast<long long>(cost.bytes));
    }
}
