// The indices in an index list or a range.
#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>
#include <vector>

#include <penstock/section.hpp>

namespace penstock::test {

inline std::vector<std::int64_t> indices_of(const Indices& indices) {
  if (const auto* list = std::get_if<IndexList>(&indices)) return *list;
  const Range r = std::get<Range>(indices);
  std::vector<std::int64_t> result;
  for (auto i = r.lower; i < r.upper; i += r.stride)
    for (auto b = i; b < std::min(i + r.block, r.upper); ++b) result.push_back(b);
  return result;
}

}  // namespace penstock::test
