// Report on a file for PENSTOCK_REPORT=1: summed over the ranks when it is closed, and printed at
// the end of the program by rank 0. A rank's time in calls is time that the program lost; its parts
// add up to it. Background work is shown separately.
#pragma once

#include <atomic>
#include <chrono>
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
  /// For a call that returned after its operation had ended.
  void count(const Operation& operation, Company company, double seconds);
  /// For a contiguous run that needed no operation.
  void count_simple(Direction direction, std::int64_t bytes, double seconds);
  /// For an operation that progressed between calls; `seconds`: those spent in it.
  void count_request(const Operation& operation, Company company, double seconds);
  /// For calls that wait for such operations, or test them. Thread-safe.
  void count_wait(const Operation& operation, Company company, std::chrono::nanoseconds time);
  /// Collective, when nothing is in flight: rank 0 keeps the text for the end of the program.
  void publish(ByteFile& file, const std::string& amode) const;

  static bool is_wanted();

 private:
  struct Sums {
    std::int64_t calls = 0, bytes = 0;
    double seconds = 0;
  };
  void add(const Operation& operation, Company company, double seconds);
  /// Methods and exchanges with their reasons.
  std::string plans_text() const;

  Sums sums_[2][2];                 // by direction; independent and collective
  std::int64_t methods_[6] = {};    // collective calls by Method
  std::int64_t exchanges_[9] = {};  // by Exchange, of those that exchanged
  std::optional<Reason> reason_;    // of the last plan
  TimeParts parts_;                 // of the time in calls that waited for their operations
  double requests_ = 0;             // seconds in calls that began other operations
  std::atomic<std::int64_t> waited_[2][2] = {};  // nanoseconds of waiting for these: as sums_
};

}  // namespace penstock
