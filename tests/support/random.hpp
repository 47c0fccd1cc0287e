// Random choices, reproducible from a seed on every machine.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>

namespace penstock::test {

struct Random {
  std::mt19937_64 engine;
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return in(1, 100) <= percent; }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return *(values.begin() + in(0, static_cast<std::int64_t>(values.size()) - 1));
  }
};

}  // namespace penstock::test
