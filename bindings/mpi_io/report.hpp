// What a file came to, for PENSTOCK_REPORT=1: added up over the ranks when it is closed, and told
// at the end of the program by the rank that has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <penstock/hints.hpp>
#include <penstock/statistics.hpp>

#include "engine/operation.hpp"

namespace penstock {

class ByteFile;

/// Of one rank.
class FileReport {
 public:
  /// Of an operation that has ended, or of a run of bytes that needed none.
  void count(const Operation& operation, Company company, double seconds);
  void count_simple(Direction direction, std::int64_t bytes, double seconds);
  /// Collective, before the file is closed: rank 0 keeps what is told.
  void tell(ByteFile& file, const std::string& amode) const;

  static bool is_wanted();

 private:
  struct Sums {
    std::int64_t calls = 0, bytes = 0;
    double seconds = 0;
  };
  /// Methods, exchanges and why they were chosen.
  std::string plans_text() const;

  Sums sums_[2][2];                 // by direction; alone and together
  std::int64_t methods_[6] = {};    // collective calls by Method
  std::int64_t exchanges_[9] = {};  // by Exchange, of those that exchanged
  std::optional<Reason> reason_;    // of the last plan
};

}  // namespace penstock
