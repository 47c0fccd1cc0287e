// Data sieving: when unwanted bytes are moved along with wanted ones (Thakur, Bordawekar,
// Choudhary, Ponnusamy & Singh, PASSION).
#pragma once

#include <cstdint>

#include "plan/coverage.hpp"

namespace penstock {

struct Sieving {
  /// Bytes that storage moves in the time of one more request.
  std::int64_t request_bytes = 64 * 1024;
  /// Move a window in parts, divided at holes that cost more than a request. Otherwise as a whole,
  /// or run by run: finding the holes would take as long as moving them.
  bool in_parts = false;

  /// Whether reading (or read-modify-write of) a whole range is faster than moving each run.
  /// `wanted` of `range` bytes lie in `runs` runs.
  bool pays(std::int64_t range, std::int64_t wanted, std::int64_t runs, bool write) const noexcept;
  bool pays(const Coverage::Cluster& part, bool write) const noexcept {
    return pays(part.range.length(), part.wanted, part.runs, write);
  }

  /// Calls visit(Coverage::Cluster) for each part to be moved by itself. A part that does not pay
  /// as a whole for a write is divided again: each byte of a hole that is written back moves twice.
  template <class Visit>
  void for_each_part(const Coverage& coverage, Extent range, bool write, Visit&& visit) const {
    coverage.for_each_part_in(range, request_bytes, [&](const Coverage::Cluster& part) {
      const bool again = write && part.runs > 2 && !pays(part, true);
      if (again) coverage.for_each_part_in(part.range, request_bytes / 2, visit);
      else visit(part);
    });
  }
};

}  // namespace penstock
