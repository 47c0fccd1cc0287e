#include "mpiio/report.hpp"

#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "file/byte_file.hpp"

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

/// What one rank did, in numbers that are added up.
constexpr std::size_t most_sums = 40;
using Numbers = std::array<double, most_sums>;

struct Cursor {
  Numbers& numbers;
  std::size_t at = 0;
  double& next() { return numbers[at++]; }
};

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
  if (!plan.reason.empty()) reason_ = plan.reason;
}

void FileReport::count_simple(Direction direction, std::int64_t bytes, double seconds) {
  Sums& sums = sums_[direction == Direction::write][0];
  ++sums.calls;
  sums.bytes += bytes;
  sums.seconds += seconds;
}

void FileReport::tell(ByteFile& file, const std::string& amode) const {
  const Statistics statistics = file.statistics();
  Numbers mine{};
  Cursor in{mine};
  for (const bool writes : {false, true})
    for (const bool together : {false, true}) {
      const Sums& sums = sums_[writes][together];
      in.next() = static_cast<double>(sums.calls);
      in.next() = static_cast<double>(sums.bytes);
      in.next() = sums.seconds;
    }
  for (const double value :
       {double(statistics.reads), double(statistics.writes), double(statistics.bytes_read),
        double(statistics.bytes_written), double(statistics.bytes_buffered),
        double(statistics.buffer_waits), double(statistics.messages), statistics.time_storage,
        statistics.time_wait, statistics.time_room, statistics.time_exchange, statistics.time_copy,
        statistics.time_plan})
    in.next() = value;
  Numbers all = mine;
  const Communicator& comm = file.comm();
  if (!comm.alone())
    MPI_Reduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_SUM, 0,
               comm.handle());
  if (comm.rank() != 0) return;

  Cursor out{all};
  const double ranks = comm.size();
  std::string text = "penstock: " + file.path() + " (" + amode + ", " +
                     std::to_string(comm.size()) + " ranks, " + file.device() + ")\n";
  double in_calls = 0;
  for (const char* const what :
       {"independent read", "collective read", "independent write", "collective write"}) {
    const double calls = out.next(), bytes = out.next(), seconds = out.next();
    in_calls += seconds;
    if (calls == 0) continue;
    const bool together = std::strncmp(what, "coll", 4) == 0;
    text += "  " + std::string(what) + ": " + number(together ? calls / ranks : calls) +
            " calls, " + bytes_text(bytes) + ", " + seconds_text(seconds / ranks) + " a rank\n";
  }
  const double reads = out.next(), writes = out.next(), bytes_read = out.next(),
               bytes_written = out.next(), buffered = out.next(), waits = out.next(),
               messages = out.next(), storage = out.next(), wait = out.next(), room = out.next(),
               exchange = out.next(), copy = out.next(), plan = out.next();
  std::string methods;
  for (std::size_t m = 0; m < std::size(methods_); ++m)
    if (methods_[m] > 0)
      methods += (methods.empty() ? "" : ", ") + std::string(to_string(static_cast<Method>(m))) +
                 " " + std::to_string(methods_[m]) + "x";
  for (std::size_t e = 0; e < std::size(exchanges_); ++e)
    if (exchanges_[e] > 0)
      methods += ", exchange " + std::string(to_string(static_cast<Exchange>(e))) + " " +
                 std::to_string(exchanges_[e]) + "x";
  if (!methods.empty()) text += "  method: " + methods + "\n";
  if (!reason_.empty()) text += "  why: " + reason_ + "\n";
  text += "  storage: " + number(reads) + " reads of " + bytes_text(bytes_read) + ", " +
          number(writes) + " writes of " + bytes_text(bytes_written) + "; " + number(messages) +
          " messages\n";
  const double hidden = std::max(0.0, storage - std::max(0.0, in_calls - wait - copy - plan));
  if (buffered > 0)
    text += "  in the background: " + bytes_text(buffered) + "; of " + seconds_text(storage) +
            " of storage, summed over the ranks, about " + seconds_text(hidden) +
            " went on beside the program\n";
  text += "  a rank's time: storage " + seconds_text(storage / ranks) + ", exchange " +
          seconds_text(exchange / ranks) + ", copies " + seconds_text(copy / ranks) +
          ", waiting for others " + seconds_text(wait / ranks) + ", planning " +
          seconds_text(plan / ranks) + "\n";
  if (room > in_calls / 10 && waits > 0)
    text += "  slow: " + seconds_text(room / ranks) +
            " a rank waiting for room in the active buffer (" + number(waits) +
            " times); raise penstock_active_buffer_size, or compute longer between writes\n";
  const double accesses = reads + writes, moved = bytes_read + bytes_written;
  if (accesses > 100 && moved / accesses < 65536)
    text += "  slow: accesses of " + bytes_text(moved / accesses) +
            " on average; collective calls of all ranks would join them\n";
  if (wait > in_calls / 2 && in_calls > 0.1)
    text +=
        "  slow: more than half of the time in calls is waiting for other ranks, which come "
        "later or have more to do\n";
  Told::of_process().add(text);
}

}  // namespace penstock
