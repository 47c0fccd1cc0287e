#include "mpi_io/report.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <type_traits>

#include "file/byte_file.hpp"
#include "storage/facts.hpp"

namespace penstock {
namespace {

/// Texts of this process, told when it ends.
class Told {
 public:
  void add(const std::string& text) {
    const std::lock_guard guard(mutex_);
    text_ += text;
  }
  static Told& of_process() {
    static Told* const told = [] {
      std::atexit([] { of_process().print(); });
      return new Told;
    }();
    return *told;
  }

 private:
  void print() {
    std::fputs(text_.c_str(), stderr);
    std::fflush(stderr);
  }
  std::mutex mutex_;
  std::string text_;
};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 100 || value == 0 ? "%.0f" : "%.3g", value);
  return text;
}

std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return number(bytes) + " " + units[unit];
}

std::string seconds_text(double seconds) {
  return seconds < 1 ? number(seconds * 1e3) + " ms" : number(seconds) + " s";
}

/// What one rank did, or all together: numbers that are added up.
struct Totals {
  struct Calls {
    double calls = 0, bytes = 0, seconds = 0;
  };
  Calls calls[2][2];  // by direction; alone and together
  double reads = 0, writes = 0, bytes_read = 0, bytes_written = 0;
  double buffered = 0, buffer_waits = 0, messages = 0;
  double storage = 0, wait = 0, room = 0, exchange = 0, copy = 0, plan = 0;  // seconds

  double seconds_in_calls() const {
    double all = 0;
    for (const auto& direction : calls)
      for (const Calls& kind : direction) all += kind.seconds;
    return all;
  }
};

void take(Totals& totals, const Statistics& statistics) {
  totals.reads = static_cast<double>(statistics.reads);
  totals.writes = static_cast<double>(statistics.writes);
  totals.bytes_read = static_cast<double>(statistics.bytes_read);
  totals.bytes_written = static_cast<double>(statistics.bytes_written);
  totals.buffered = static_cast<double>(statistics.bytes_buffered);
  totals.buffer_waits = static_cast<double>(statistics.buffer_waits);
  totals.messages = static_cast<double>(statistics.messages);
  totals.storage = statistics.time_storage;
  totals.wait = statistics.time_wait;
  totals.room = statistics.time_room;
  totals.exchange = statistics.time_exchange;
  totals.copy = statistics.time_copy;
  totals.plan = statistics.time_plan;
}

/// Of all ranks, on rank 0.
Totals add_up(const Totals& mine, const Communicator& comm) {
  static_assert(std::is_trivially_copyable_v<Totals> && sizeof(Totals) % sizeof(double) == 0);
  Totals all = mine;
  if (!comm.alone())
    MPI_Reduce(&mine, &all, static_cast<int>(sizeof mine / sizeof(double)), MPI_DOUBLE, MPI_SUM, 0,
               comm.handle());
  return all;
}

std::string calls_text(const Totals& all, double ranks) {
  constexpr const char* names[2][2] = {{"independent read", "collective read"},
                                       {"independent write", "collective write"}};
  std::string text;
  for (const bool writes : {false, true})
    for (const bool together : {false, true}) {
      const Totals::Calls& kind = all.calls[writes][together];
      if (kind.calls == 0) continue;
      text += "  " + std::string(names[writes][together]) + ": " +
              number(together ? kind.calls / ranks : kind.calls) + " calls, " +
              bytes_text(kind.bytes) + ", " + seconds_text(kind.seconds / ranks) + " a rank\n";
    }
  return text;
}

std::string storage_text(const Totals& all, double ranks) {
  std::string text = "  storage: " + number(all.reads) + " reads of " + bytes_text(all.bytes_read) +
                     ", " + number(all.writes) + " writes of " + bytes_text(all.bytes_written) +
                     "; " + number(all.messages) + " messages\n";
  const double storage_in_calls =
      std::max(0.0, all.seconds_in_calls() - all.wait - all.copy - all.plan);
  if (all.buffered > 0)
    text += "  in the background: " + bytes_text(all.buffered) + "; of " +
            seconds_text(all.storage) + " of storage, summed over the ranks, about " +
            seconds_text(std::max(0.0, all.storage - storage_in_calls)) +
            " went on beside the program\n";
  return text + "  a rank's time: storage " + seconds_text(all.storage / ranks) + ", exchange " +
         seconds_text(all.exchange / ranks) + ", copies " + seconds_text(all.copy / ranks) +
         ", waiting for others " + seconds_text(all.wait / ranks) + ", planning " +
         seconds_text(all.plan / ranks) + "\n";
}

/// What was slow, and what helps.
std::string slow_text(const Totals& all, double ranks) {
  const double in_calls = all.seconds_in_calls();
  std::string text;
  if (all.room > in_calls / 10 && all.buffer_waits > 0)
    text += "  slow: " + seconds_text(all.room / ranks) +
            " a rank waiting for room in the active buffer (" + number(all.buffer_waits) +
            " times); raise penstock_active_buffer_size, or compute longer between writes\n";
  const double accesses = all.reads + all.writes, moved = all.bytes_read + all.bytes_written;
  if (accesses > 100 && moved / accesses < 65536)
    text += "  slow: accesses of " + bytes_text(moved / accesses) +
            " on average; collective calls of all ranks would join them\n";
  if (all.wait > in_calls / 2 && in_calls > 0.1)
    text +=
        "  slow: more than half of the time in calls is waiting for other ranks, which come "
        "later or have more to do\n";
  return text;
}

}  // namespace

bool FileReport::is_wanted() {
  static const bool wanted = [] {
    const char* const text = std::getenv("PENSTOCK_REPORT");
    return text != nullptr && *text != '\0' && std::strcmp(text, "0") != 0;
  }();
  return wanted;
}

void FileReport::count(const Operation& operation, Company company, double seconds) {
  const bool writes = operation.access().writes();
  Sums& sums = sums_[writes][company == Company::collective];
  ++sums.calls;
  sums.bytes += operation.bytes();
  sums.seconds += seconds;
  if (company != Company::collective) return;
  const Plan& plan = operation.plan();
  ++methods_[static_cast<std::size_t>(plan.method)];
  if (plan.collective()) ++exchanges_[static_cast<std::size_t>(plan.exchange)];
  reason_ = plan.reason;
}

void FileReport::count_simple(Direction direction, std::int64_t bytes, double seconds) {
  Sums& sums = sums_[direction == Direction::write][0];
  ++sums.calls;
  sums.bytes += bytes;
  sums.seconds += seconds;
}

std::string FileReport::plans_text() const {
  std::string methods;
  for (std::size_t m = 0; m < std::size(methods_); ++m)
    if (methods_[m] > 0)
      methods += (methods.empty() ? "" : ", ") + std::string(to_string(static_cast<Method>(m))) +
                 " " + std::to_string(methods_[m]) + "x";
  for (std::size_t e = 0; e < std::size(exchanges_); ++e)
    if (exchanges_[e] > 0)
      methods += ", exchange " + std::string(to_string(static_cast<Exchange>(e))) + " " +
                 std::to_string(exchanges_[e]) + "x";
  std::string text;
  if (!methods.empty()) text += "  method: " + methods + "\n";
  if (reason_) text += "  why: " + reason_->text() + "\n";
  return text;
}

void FileReport::tell(ByteFile& file, const std::string& amode) const {
  Totals mine;
  take(mine, file.statistics());
  for (const bool writes : {false, true})
    for (const bool together : {false, true}) {
      const Sums& sums = sums_[writes][together];
      mine.calls[writes][together] = {static_cast<double>(sums.calls),
                                      static_cast<double>(sums.bytes), sums.seconds};
    }
  const Communicator& comm = file.comm();
  const Totals all = add_up(mine, comm);
  if (comm.rank() != 0) return;
  const double ranks = comm.size();
  Told::of_process().add(
      "penstock: " + file.path() + " (" + amode + ", " + std::to_string(comm.size()) + " ranks, " +
      file.device() + ")\n" + "  file system: " + describe_caches(file.file_system()) + "\n" +
      calls_text(all, ranks) + plans_text() + storage_text(all, ranks) + slow_text(all, ranks));
}

}  // namespace penstock
