#include "mpi_io/report.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <type_traits>
#include <utility>

#include "file/byte_file.hpp"
#include "storage/facts.hpp"

namespace penstock {
namespace {

/// Reports collected in this process, printed when it ends.
class ProcessReport {
 public:
  void add(const std::string& text) {
    const std::lock_guard guard(mutex_);
    text_ += text;
  }
  static ProcessReport& of_process() {
    static ProcessReport* const report = [] {
      std::atexit([] { of_process().print(); });
      return new ProcessReport;
    }();
    return *report;
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

/// Figures of one rank, or summed over all.
struct Totals {
  struct Calls {
    double calls = 0, bytes = 0, seconds = 0;
  };
  Calls calls[2][2];  // by direction; independent and collective
  double reads = 0, writes = 0, bytes_read = 0, bytes_written = 0;
  double buffered = 0, buffer_waits = 0, messages = 0;
  double all_storage = 0;  // seconds, including background work
  TimeParts parts;         // of the time in calls that waited for their operations
  double requests = 0;     // seconds in calls that began other operations, or waited for them

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
  totals.all_storage = statistics.time_storage;
}

/// Sum over all ranks, on rank 0.
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
  if (all.buffered > 0 || all.all_storage > all.parts.storage * 1.01)
    text += "  beside the program: " + bytes_text(all.buffered) + " buffered; storage " +
            seconds_text(std::max(0.0, all.all_storage - all.parts.storage) / ranks) + " a rank\n";
  return text;
}

/// The parts are those of different spans; the remainder is shown as another part.
std::string parts_text(const Totals& all, double ranks) {
  const double in_calls = all.seconds_in_calls();
  const std::pair<const char*, double> parts[] = {
      {"storage", all.parts.storage},
      {"exchange", all.parts.exchange},
      {"copies", all.parts.copy},
      {"waiting for others", all.parts.wait},
      {"waiting for room", all.parts.room},
      {"planning", all.parts.plan},
      {"requests", all.requests},
      {"other", std::max(0.0, in_calls - all.parts.sum() - all.requests)}};
  std::string text = "  a rank's " + seconds_text(in_calls / ranks) + " in calls: ";
  for (const auto& [name, seconds] : parts)
    text += (&name == &parts[0].first ? "" : ", ") + std::string(name) + " " +
            seconds_text(seconds / ranks);
  return text + "\n";
}

/// What was slow, and possible remedies.
std::string slow_text(const Totals& all, double ranks) {
  const double in_calls = all.seconds_in_calls();
  std::string text;
  if (all.parts.room > in_calls / 10 && all.buffer_waits > 0)
    text += "  slow: " + seconds_text(all.parts.room / ranks) +
            " a rank waiting for room in the active buffer (" + number(all.buffer_waits) +
            " times); raise penstock_active_buffer_size, or compute longer between writes\n";
  const double accesses = all.reads + all.writes, moved = all.bytes_read + all.bytes_written;
  if (accesses > 100 && moved / accesses < 65536)
    text += "  slow: accesses of " + bytes_text(moved / accesses) +
            " on average; collective calls of all ranks would join them\n";
  if (all.parts.wait > in_calls / 2 && in_calls > 0.1)
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
  add(operation, company, seconds);
  parts_ += operation.parts();
}

void FileReport::count_request(const Operation& operation, Company company, double seconds) {
  add(operation, company, seconds);
  requests_ += seconds;
}

void FileReport::count_wait(const Operation& operation, Company company,
                            std::chrono::nanoseconds time) {
  waited_[operation.access().writes()][company == Company::collective] += time.count();
}

void FileReport::add(const Operation& operation, Company company, double seconds) {
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
  parts_.storage += seconds;
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

void FileReport::publish(ByteFile& file, const std::string& amode) const {
  Totals mine;
  take(mine, file.statistics());
  mine.parts = parts_;
  mine.requests = requests_;
  for (const bool writes : {false, true})
    for (const bool together : {false, true}) {
      const Sums& sums = sums_[writes][together];
      const double waited = 1e-9 * static_cast<double>(waited_[writes][together].load());
      mine.requests += waited;
      mine.calls[writes][together] = {static_cast<double>(sums.calls),
                                      static_cast<double>(sums.bytes), sums.seconds + waited};
    }
  const Communicator& comm = file.comm();
  const Totals all = add_up(mine, comm);
  if (comm.rank() != 0) return;
  const double ranks = comm.size();
  ProcessReport::of_process().add("penstock: " + file.path() + " (" + amode + ", " +
                                  std::to_string(comm.size()) + " ranks, " + file.device() + ")\n" +
                                  "  file system: " + describe_caches(file.file_system()) + "\n" +
                                  calls_text(all, ranks) + plans_text() + storage_text(all, ranks) +
                                  parts_text(all, ranks) + slow_text(all, ranks));
}

}  // namespace penstock
