// What a trace costs: requests of a size by processes that keep one, beside processes that do not.
//   trace_cost [FOLDER [BLOCKS [PAIRS]]]
// All are forks of this one. They take turns in short blocks, so that what else the machine does
// meets all alike, on one file and in one memory: which pages these lie on makes a difference of
// 20 %. Where a process has its heap makes one of some percent; so there are several pairs, half of
// which begin with the process that keeps a trace. Prints, for each kind and size of request, the
// median over the pairs of both's median block; how much a trace adds to that, and to the mean of
// the processor's time, which what else runs hardly lengthens; and, as noise, the same of two
// processes that keep none. Ends with 1 where a trace adds 2 % or more, noise left out, to both
// times of requests of 4 KiB.
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/penstock.hpp>

#include "file/byte_file.hpp"
#include "file/process.hpp"

namespace ps = penstock;

namespace {

struct Kind {
  const char* name;
  ps::Direction direction;
  bool planned;  // as arrays are written; else as MPI-IO writes a run of bytes
  std::int64_t bytes;
  int requests;  // per block
  double bound;  // limit of the slow-down; 0: none
};

constexpr Kind kinds[] = {
    {"write_at, 4 KiB", ps::Direction::write, false, 4096, 400, 0.02},
    {"read_at, 4 KiB", ps::Direction::read, false, 4096, 400, 0.02},
    {"collective write, 4 KiB", ps::Direction::write, true, 4096, 200, 0.02},
    {"collective read, 4 KiB", ps::Direction::read, true, 4096, 200, 0.02},
    {"collective write, 4 MiB", ps::Direction::write, true, 4 << 20, 2, 0},
    {"collective read, 4 MiB", ps::Direction::read, true, 4 << 20, 2, 0},
};
constexpr std::int64_t file_bytes = 8 << 20;

class Plain : public ps::Contents {
 public:
  std::vector<ps::Common> common() const override { return {}; }
  void check(const ps::Communicator&) override {}
  ps::FileUnits units() const override { return {.open_ended = true}; }
};

/// Of a block of requests.
struct Seconds {
  double elapsed = -1, processor = -1;
};

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Memory shared by all forks.
std::span<std::byte> common_memory() {
  void* const at =
      ::mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::abort();
  return {static_cast<std::byte*>(at), file_bytes};
}

/// A process that runs blocks of requests on demand, and returns their times.
class Worker {
 public:
  Worker(const std::string& folder, std::span<std::byte> memory, bool traced) {
    int orders[2], answers[2];
    if (::pipe(orders) != 0 || ::pipe(answers) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      if (traced) ::setenv("PENSTOCK_TRACE", (folder + "/traces").c_str(), 1);
      else ::unsetenv("PENSTOCK_TRACE");
      ::close(orders[1]);
      serve(folder + "/file", memory, orders[0], answers[1]);
      std::exit(0);
    }
    ::close(orders[0]);
    ::close(answers[1]);
    to_ = orders[1];
    from_ = answers[0];
    block(0);  // waits until it has started
  }
  Worker(const Worker&) = delete;
  ~Worker() {
    ::close(to_);
    ::waitpid(pid_, nullptr, 0);
  }
  Seconds block(int kind) const {
    Seconds seconds;
    if (::write(to_, &kind, sizeof kind) != sizeof kind ||
        ::read(from_, &seconds, sizeof seconds) != sizeof seconds)
      std::abort();
    return seconds;
  }

 private:
  static void serve(const std::string& path, std::span<std::byte> memory, int from, int to) {
    Plain contents;
    ps::Hints hints;
    hints.active_buffer_size = 0;
    ps::ByteFile file(ps::background_of_process(), ps::Communicator(), path, ps::OpenFlag::create,
                      contents, hints);
    for (std::int64_t at = 0; at < file_bytes; at += 4096)
      file.move_now(ps::Direction::write, memory.first(4096), at);
    int kind = 0;
    while (::read(from, &kind, sizeof kind) == sizeof kind) {
      const Seconds seconds = work(file, memory, kinds[kind]);
      if (::write(to, &seconds, sizeof seconds) != sizeof seconds) break;
    }
    file.close();
  }

  static Seconds work(ps::ByteFile& file, std::span<std::byte> memory, const Kind& kind) {
    const double processor = processor_seconds();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kind.requests; ++i) {
      const std::int64_t at = i * kind.bytes % file_bytes;
      const std::span<std::byte> part(memory.data() + at, static_cast<std::size_t>(kind.bytes));
      if (kind.planned) transfer(file, part, at, kind.direction);
      else move_simply(file, part, at, kind.direction);
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    return {elapsed.count(), processor_seconds() - processor};
  }

  /// As in MPI-IO, which reads the clock for its report.
  static void move_simply(ps::ByteFile& file, std::span<std::byte> memory, std::int64_t offset,
                          ps::Direction direction) {
    const auto begin = std::chrono::steady_clock::now();
    const auto moved = file.move_now(direction, memory, offset);
    const auto end = std::chrono::steady_clock::now();
    if (!moved) std::abort();
    file.tell_moved(direction, {offset, offset + *moved}, begin, end);
  }

  static void transfer(ps::ByteFile& file, std::span<std::byte> memory, std::int64_t offset,
                       ps::Direction direction) {
    const auto bytes = static_cast<std::int64_t>(memory.size());
    ps::ByteRequest request;
    request.access.direction = direction;
    request.access.file = ps::Footprint({ps::FilePattern(ps::Nest::run(offset, bytes))});
    request.access.memory = {ps::MemoryMap(memory.data(), ps::Nest::run(0, bytes))};
    file.transfer(std::move(request));
  }

  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Two processes that take turns, the one that may write a trace made first or last.
class Pair {
 public:
  Pair(const std::string& folder, std::span<std::byte> memory, bool traced, bool other_first)
      : first_(folder, memory, traced && other_first),
        second_(folder, memory, traced && !other_first),
        other_first_(other_first) {}
  const Worker& plain() const { return other_first_ ? second_ : first_; }
  const Worker& other() const { return other_first_ ? first_ : second_; }

 private:
  Worker first_, second_;  // the second has the first's pipes, too: it has to end before
  bool other_first_;
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Seconds of a request by both of a pair: the median block's, and the mean of the processor's
/// time, which has the making of new pages for the trace in it, once in some thousand records.
struct Measured {
  Seconds plain, other;
};

Measured measure(const Pair& pair, int number, int blocks) {
  std::vector<double> values[4];
  for (int i = 0; i < blocks; ++i) {
    Seconds other, plain;
    if (i % 2 == 0) other = pair.other().block(number);
    plain = pair.plain().block(number);
    if (i % 2 != 0) other = pair.other().block(number);
    const double found[] = {plain.elapsed, plain.processor, other.elapsed, other.processor};
    for (int v = 0; v < 4; ++v) values[v].push_back(found[v] / kinds[number].requests);
  }
  return {{median(values[0]), mean(values[1])}, {median(values[2]), mean(values[3])}};
}

/// The results of all pairs: microseconds, and percentages by which the other is slower.
struct Summary {
  double plain, other, slower, more_processor;
};

Summary summary_of(const std::vector<Measured>& pairs) {
  std::vector<double> plain, other, slower, more;
  for (const Measured& one : pairs) {
    plain.push_back(one.plain.elapsed * 1e6);
    other.push_back(one.other.elapsed * 1e6);
    slower.push_back((one.other.elapsed / one.plain.elapsed - 1) * 100);
    more.push_back((one.other.processor / one.plain.processor - 1) * 100);
  }
  return {median(plain), median(other), median(slower), median(more)};
}

bool report(const Kind& kind, const Summary& traced, const Summary& noise) {
  std::printf("%-24s %9.3f %9.3f %+9.2f %% %+9.2f %% %+9.2f %% %+9.2f %%\n", kind.name,
              traced.plain, traced.other, traced.slower, traced.more_processor, noise.slower,
              noise.more_processor);
  std::fflush(stdout);
  const double least = std::min(traced.slower - std::abs(noise.slower),
                                traced.more_processor - std::abs(noise.more_processor));
  return kind.bound == 0 || least < kind.bound * 100;
}

bool measure_all(const std::string& folder, int blocks, int pairs) {
  constexpr int count = static_cast<int>(std::size(kinds));
  const std::span<std::byte> memory = common_memory();
  std::vector<Measured> found[2][count];
  for (int i = 0; i < 2 * pairs; ++i) {
    const bool traced = i % 2 == 0;
    const Pair pair(folder, memory, traced, i / 2 % 2 == 0);
    for (int kind = 0; kind < count; ++kind)
      found[traced ? 0 : 1][kind].push_back(measure(pair, kind, blocks));
  }
  std::printf(
      "microseconds a request: median of %d pairs of processes, %d blocks each\n%-24s %9s %9s "
      "%11s %11s %11s %11s\n",
      pairs, blocks, "", "no trace", "trace", "slower", "processor", "noise", "processor");
  bool good = true;
  for (int kind = 0; kind < count; ++kind)
    good = report(kinds[kind], summary_of(found[0][kind]), summary_of(found[1][kind])) && good;
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = std::string(argc > 1 ? argv[1] : "/tmp") + "/penstock-trace-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  const auto number = [&](int place, int usual) {
    return argc > place ? std::max(1, std::atoi(argv[place])) : usual;
  };
  const bool good = measure_all(folder, number(2, 100), number(3, 8));
  std::filesystem::remove_all(folder);
  return good ? 0 : 1;
}
