// Memory of plans for files with indivisible pieces.
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/plan.hpp"

using namespace penstock;

namespace {

/// A chunk larger than a window is moved alone, and at most two of them are held at a time.
TEST(Plan, WindowsOfWholeChunksAreNoMoreThanTwoOrFitIntoTheBuffer) {
  for (const std::int64_t buffer : {1 << 20, 4 << 20, 5'000'000, 16 << 20})
    for (const std::int64_t chunk : {1000, 300'000, 1 << 20, 3'000'000, 16 << 20})
      for (const int cores : {2, 16}) {
        FileUnits units;
        units.all = {0, 40 * chunk};
        units.indivisible = chunk;
        Hints hints;
        hints.method = Method::extended;
        hints.exchange = Exchange::node;
        hints.buffer_size = buffer;
        Machine machine{16, cores, 1};
        machine.shared_memory = true;
        machine.page_cache = cores == 2;
        const Demand demand = Demand::of(Footprint({FilePattern::run(units.all)}), units);
        for (const bool writes : {false, true}) {
          const Plan plan = make_plan(units, demand, hints, machine, writes);
          EXPECT_EQ(plan.domains.buffer() % chunk, 0);
          EXPECT_LE(plan.depth * plan.domains.buffer(), std::max(buffer, 2 * chunk))
              << "buffer " << buffer << ", chunk " << chunk << ", depth " << plan.depth;
        }
      }
}

}  // namespace
