// What a trace costs: requests of a size by a process that keeps one, beside a process that does
// not.
//   trace_cost [FOLDER [BLOCKS]]
// Both are forks of this one. They take turns in short blocks, so that what else the machine does
// meets both alike; a block's time is that of its requests alone. Prints, for each kind and size of
// request, the median block of both and how much the first is slower. Ends with 1 where requests of
// 4 KiB are slowed down by 2 % or more.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
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
  int requests;  // a block
  double bound;  // of the slow-down; 0: none
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

/// A process that does blocks of requests when it is told to, and answers with their seconds.
class Worker {
 public:
  Worker(const std::string& folder, bool traced) {
    int orders[2], answers[2];
    if (::pipe(orders) != 0 || ::pipe(answers) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      if (traced) ::setenv("PENSTOCK_TRACE", (folder + "/traces").c_str(), 1);
      else ::unsetenv("PENSTOCK_TRACE");
      ::close(orders[1]);
      serve(folder + (traced ? "/traced" : "/plain"), orders[0], answers[1]);
      std::exit(0);
    }
    ::close(orders[0]);
    ::close(answers[1]);
    to_ = orders[1];
    from_ = answers[0];
  }
  Worker(const Worker&) = delete;
  ~Worker() {
    ::close(to_);
    ::waitpid(pid_, nullptr, 0);
  }
  double block(int kind) const {
    double seconds = -1;
    if (::write(to_, &kind, sizeof kind) != sizeof kind ||
        ::read(from_, &seconds, sizeof seconds) != sizeof seconds)
      std::abort();
    return seconds;
  }

 private:
  static void serve(const std::string& path, int from, int to) {
    Plain contents;
    ps::Hints hints;
    hints.active_buffer_size = 0;
    ps::ByteFile file(ps::background_of_process(), ps::Communicator(), path, ps::OpenFlag::create,
                      contents, hints);
    std::vector<std::byte> memory(file_bytes);
    for (std::int64_t at = 0; at < file_bytes; at += 4096)
      file.move_now(ps::Direction::write, {memory.data(), 4096}, at);
    int kind = 0;
    while (::read(from, &kind, sizeof kind) == sizeof kind) {
      const double seconds = work(file, memory, kinds[kind]);
      if (::write(to, &seconds, sizeof seconds) != sizeof seconds) break;
    }
    file.close();
  }

  static double work(ps::ByteFile& file, std::vector<std::byte>& memory, const Kind& kind) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kind.requests; ++i) {
      const std::int64_t at = i * kind.bytes % file_bytes;
      const std::span<std::byte> part(memory.data() + at, static_cast<std::size_t>(kind.bytes));
      if (kind.planned) transfer(file, part, at, kind.direction);
      else move_simply(file, part, at, kind.direction);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  /// As MPI-IO does it, which looks at the clock for its report.
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
    ps::Request request;
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

bool measure(const Worker& plain, const Worker& traced, int number, int blocks) {
  const Kind& kind = kinds[number];
  std::vector<double> without, with, ratios;
  for (int i = 0; i < blocks; ++i) {
    const bool first = i % 2 == 0;
    double mine = first ? traced.block(number) : 0;
    const double other = plain.block(number);
    if (!first) mine = traced.block(number);
    without.push_back(other / kind.requests);
    with.push_back(mine / kind.requests);
    ratios.push_back(mine / other);
  }
  const double slower = median(with) / median(without) - 1;
  std::printf("%-26s %10.3f %10.3f %8.2f %% %10.2f %%\n", kind.name, median(without) * 1e6,
              median(with) * 1e6, slower * 100, (median(ratios) - 1) * 100);
  std::fflush(stdout);
  return kind.bound == 0 || std::min(slower, median(ratios) - 1) < kind.bound;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = std::string(argc > 1 ? argv[1] : "/tmp") + "/penstock-trace-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  const int blocks = argc > 2 ? std::max(1, std::atoi(argv[2])) : 400;
  bool good = true;
  {
    const Worker plain(folder, false), traced(folder, true);
    std::printf("microseconds a request, median of %d blocks\n%-26s %10s %10s %10s %12s\n", blocks,
                "", "no trace", "trace", "slower", "median block");
    for (int kind = 0; kind < static_cast<int>(std::size(kinds)); ++kind)
      good = measure(plain, traced, kind, blocks) && good;
  }
  std::filesystem::remove_all(folder);
  return good ? 0 : 1;
}
