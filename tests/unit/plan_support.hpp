// Requests and machines for tests of plans.
#pragma once

#include <vector>

#include "array/lower.hpp"
#include "plan/plan.hpp"

namespace penstock::test {

inline const ArrayLayout layout{{4096, 4096}, 4, Order::c, 0};

inline Demand demand_of(const std::vector<Section>& per_rank) {
  Demand all;
  for (const Section& section : per_rank)
    all.join(Demand::of(lower(layout, std::span(&section, 1))));
  return all;
}

/// 100 MB/s and 1 ms a request: 100 kB cost as much as a request.
inline Machine machine_with_device(int ranks, int cores) {
  Machine machine{ranks, cores};
  machine.page_cache = false;
  machine.shared_memory = true;
  machine.costs.page_cache = false;
  machine.costs.call = machine.costs.contended_call = 1e-3;
  machine.costs.storage_byte = 1 / 100e6;
  return machine;
}

}  // namespace penstock::test
