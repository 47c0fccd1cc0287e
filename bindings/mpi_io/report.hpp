// What a file came to, for PENSTOCK_REPORT=1: added up over the ranks when it is closed, and told
// at the end of the program by the rank that has it. A rank's time in calls is what the program was
// kept by; its parts add up to it. What is done beside the program is told apart from it.
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
  /// Of a call that did not return before its operation had ended.
  void count(const Operation& operation, Company company, double seconds);
  /// Of a run of bytes that needed no operation.
  void count_simple(Direction direction, std::int64_t bytes, double seconds);
  /// Of an operation that went on between calls: the seconds of those that are the file's.
  void count_request(const Operation& operation, Company company, double seconds);
  /// Of calls that wait for such operations, or ask about them. From any thread.
  void count_wait(const Operation& operation, Company company, std::chrono::nanoseconds time);
  /// Collective, when nothing is under way any more: rank 0 keeps what is told.
  void tell(ByteFile& file, const std::string& amode) const;

  static bool is_wanted();

 private:
  struct Sums {
    std::int64_t calls = 0, bytes = 0;
    double seconds = 0;
  };
  void add(const Operation& operation, Company company, double seconds);
  /// Methods, exchanges and why they were chosen.
  std::string plans_text() const;

  Sums sums_[2][2];                 // by direction; alone and together
  std::int64_t methods_[6] = {};    // collective calls by Method
  std::int64_t exchanges_[9] = {};  // by Exchange, of those that exchanged
  std::optional<Reason> reason_;    // of the last plan
  TimeParts parts_;                 // of the time in calls that waited for their operations
  double requests_ = 0;             // seconds in calls that began others
  std::atomic<std::int64_t> waited_[2][2] = {};  // nanoseconds, for these: as sums_
};

}  // namespace penstock
