// Statistics: counts and times of a rank. One list is the source for sums, bindings and documents.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>

#include <penstock/export.hpp>

namespace penstock {

/// What this rank did since the file was opened, or during one call. All counts are exact.
/// `statistics_fields` documents each member.
struct PENSTOCK_EXPORT Statistics {
  std::int64_t reads = 0, writes = 0, other_calls = 0;
  std::int64_t bytes_read = 0, bytes_written = 0, bytes_wanted = 0;
  std::int64_t messages = 0, bytes_sent = 0, synchronisations = 0;
  std::int64_t rounds = 0, sieved_windows = 0, staging_peak = 0, allocations = 0;
  std::int64_t bytes_buffered = 0, buffer_peak = 0, buffer_waits = 0;
  double time_plan = 0, time_exchange = 0, time_copy = 0;
  double time_storage = 0, time_wait = 0, time_room = 0;

  /// Sums; of peaks, the larger.
  Statistics& operator+=(const Statistics& more);
  friend bool operator==(const Statistics&, const Statistics&) = default;
};

/// One member of Statistics, described.
struct StatisticsField {
  std::string_view name;  ///< of the member
  std::variant<std::int64_t Statistics::*, double Statistics::*> member;
  std::string_view unit;  ///< "bytes", "seconds"; for counts, what is counted
  std::string_view help;  ///< a sentence
  bool peak = false;      ///< a maximum, which is not summed
};

/// All members, in the order used by documents and bindings.
inline constexpr std::array<StatisticsField, 22> statistics_fields{{
    {"reads", &Statistics::reads, "calls", "System calls that read data."},
    {"writes", &Statistics::writes, "calls", "System calls that wrote data."},
    {"other_calls", &Statistics::other_calls, "calls",
     "Other system calls on the file: locks, size queries, truncations, syncs."},
    {"bytes_read", &Statistics::bytes_read, "bytes", "Read from the file."},
    {"bytes_written", &Statistics::bytes_written, "bytes", "Written to the file."},
    {"bytes_wanted", &Statistics::bytes_wanted, "bytes", "Requested by this rank."},
    {"messages", &Statistics::messages, "messages",
     "Sent to other ranks: data and request descriptors."},
    {"bytes_sent", &Statistics::bytes_sent, "bytes", "In these messages."},
    {"rounds", &Statistics::rounds, "windows", "Times that this rank's staging buffer was filled."},
    {"sieved_windows", &Statistics::sieved_windows, "windows",
     "Windows with holes, which were read first."},
    {"staging_peak", &Statistics::staging_peak, "bytes", "Most staging memory in use.", true},
    {"synchronisations", &Statistics::synchronisations, "meetings",
     "Times that all ranks waited for each other."},
    {"allocations", &Statistics::allocations, "buffers",
     "Staging and message buffers taken from the system."},
    {"bytes_buffered", &Statistics::bytes_buffered, "bytes",
     "Passed through the active buffer of this process."},
    {"buffer_peak", &Statistics::buffer_peak, "bytes",
     "Most memory of this process's active buffer in use.", true},
    {"buffer_waits", &Statistics::buffer_waits, "waits",
     "Times that a write had to wait for room in the active buffer."},
    {"time_plan", &Statistics::time_plan, "seconds", "Agreeing and planning."},
    {"time_exchange", &Statistics::time_exchange, "seconds", "Sending and receiving."},
    {"time_copy", &Statistics::time_copy, "seconds",
     "Copying between memory, messages and staging buffer."},
    {"time_storage", &Statistics::time_storage, "seconds",
     "Storage calls, also in the background."},
    {"time_wait", &Statistics::time_wait, "seconds", "Waiting for other ranks."},
    {"time_room", &Statistics::time_room, "seconds", "Waiting for room in the active buffer."},
}};

}  // namespace penstock
