// Data sieving: when bytes that nobody wants are moved along with those that are (Thakur,
// Bordawekar, Choudhary, Ponnusamy & Singh, PASSION).
#pragma once

#include <cstdint>

#include "plan/coverage.hpp"

namespace penstock {

struct Sieving {
  /// Bytes that storage moves in the time that one request more takes.
  std::int64_t request_bytes = 64 * 1024;
  /// A window is moved in parts, with a hole that costs more than a request between two of them.
  /// Else as a whole, or run by run: finding the holes would take as long as moving them.
  bool in_parts = false;

  /// Whether reading (or read-modify-write of) a whole range beats moving each run by itself.
  /// `wanted` of `range` bytes lie in `runs` runs.
  bool pays(std::int64_t range, std::int64_t wanted, std::int64_t runs, bool write) const noexcept;
  bool pays(const Coverage::Cluster& part, bool write) const noexcept {
    return pays(part.range.length(), part.wanted, part.runs, write);
  }

  /// Calls visit(Coverage::Cluster) for what is moved by itself. What does not pay as a whole when
  /// it is written is divided again: each byte of a hole that is written back moves twice.
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
