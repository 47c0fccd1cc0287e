// Random choices, the same everywhere for the same seed.
#pragma once

#include <cstdint>
#include <random>

namespace penstock::test {

struct Random {
  std::mt19937_64 engine;
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(high - low + 1));
  }
};

}  // namespace penstock::test
