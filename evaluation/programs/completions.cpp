// What scatter-gather accesses and completions of storage bring, kind by kind:
//   windows   large windows, each waited for before the next one, against four under way
//   runs      short runs with gaps, one call each, against submissions of up to 1024
//   parts     adjacent file bytes from several places: copied together, against one gathering call
//     completions FOLDER [REPEAT]      writes and reads 64 MiB a time, and removes its file
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/buffer.hpp"
#include "storage/submission.hpp"

using namespace penstock;

namespace {

constexpr std::int64_t total = 64 << 20;

struct Kind {
  const char* name;
  std::function<std::unique_ptr<Storage>(const std::string&)> open;
};

struct Bench {
  std::string path;
  int repeat;
  Buffer memory{total + (1 << 20), nullptr};
  Buffer packed{4 << 20, nullptr};

  std::span<const std::byte> at(std::int64_t begin, std::int64_t size) {
    return {memory.data() + begin, static_cast<std::size_t>(size)};
  }
};

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void check(const Submission& accesses) {
  if (accesses.first_failure() == accesses.size()) return;
  std::fprintf(stderr, "%s\n", std::strerror(accesses.transfer(accesses.first_failure()).error));
  std::exit(1);
}

void move_windows(Bench& bench, Storage& storage, Direction direction, std::int64_t window,
                  std::size_t most) {
  std::deque<Submission> under_way;
  const auto finish = [&] {
    under_way.front().wait();
    check(under_way.front());
    under_way.pop_front();
  };
  for (std::int64_t begin = 0; begin < total; begin += window) {
    under_way.emplace_back(storage).add(direction, bench.at(begin, window), begin);
    under_way.back().start();
    if (under_way.size() == most) finish();
  }
  while (!under_way.empty()) finish();
}

void move_runs(Bench& bench, Storage& storage, Direction direction, std::int64_t run,
               std::size_t most) {
  Submission accesses(storage);
  const auto finish = [&] {
    accesses.run();
    check(accesses);
    accesses.clear();
  };
  const std::int64_t runs = std::min<std::int64_t>(4096, total / run / 2);
  for (std::int64_t i = 0; i < runs; ++i) {
    accesses.add(direction, bench.at(2 * i * run, run), 2 * i * run);
    if (accesses.size() == most) finish();
  }
  finish();
}

void move_parts(Bench& bench, Storage& storage, std::int64_t part, bool gather) {
  // Rows of an array with a halo of 64 bytes; 1 MiB of them is packed at a time, as the engine
  // does.
  constexpr std::int64_t piece = 1 << 20;
  for (std::int64_t begin = 0; begin < total / 2; begin += piece) {
    Submission accesses(storage);
    for (std::int64_t at = 0; at < piece; at += part) {
      const auto memory = bench.at(begin + at + (at + begin) / part * 64 % (total / 2), part);
      if (gather) accesses.add(Direction::write, memory, begin + at);
      else std::memcpy(bench.packed.data() + at, memory.data(), memory.size());
    }
    if (!gather) accesses.add(Direction::write, bench.packed.first(piece), begin);
    accesses.run();
    check(accesses);
  }
}

/// Medians of both, taken in turns.
void compare(const Bench& bench, const char* kind, const char* what, std::int64_t size,
             double bytes, const std::function<void(bool better)>& work) {
  std::vector<double> times[2];
  work(false);
  for (int turn = 0; turn < bench.repeat; ++turn)
    for (const int way : {turn % 2, 1 - turn % 2})
      times[way].push_back(seconds_of([&] { work(way == 1); }));
  const double before = median(times[0]), after = median(times[1]);
  std::printf("%-13s %-14s %8lld %9.0f %9.0f %6.2f\n", kind, what, static_cast<long long>(size),
              bytes / before / 1e6, bytes / after / 1e6, before / after);
  std::fflush(stdout);
}

void measure(Bench& bench, const Kind& kind) {
  const auto storage = kind.open(bench.path);
  storage->resize(total);
  move_windows(bench, *storage, Direction::write, 4 << 20, 1);  // allocates blocks, no holes
  for (const Direction direction : {Direction::write, Direction::read}) {
    const bool writes = direction == Direction::write;
    for (const std::int64_t window : {256 << 10, 1 << 20, 4 << 20})
      compare(bench, kind.name, writes ? "write windows" : "read windows", window, total,
              [&](bool more) { move_windows(bench, *storage, direction, window, more ? 4 : 1); });
    for (const std::int64_t run : {4 << 10, 64 << 10}) {
      const auto runs = static_cast<double>(std::min<std::int64_t>(4096, total / run / 2));
      compare(bench, kind.name, writes ? "write runs" : "read runs", run,
              runs * static_cast<double>(run),
              [&](bool more) { move_runs(bench, *storage, direction, run, more ? 1024 : 1); });
    }
  }
  for (const std::int64_t part : {256, 1024, 4096, 16384})
    compare(bench, kind.name, "write parts", part, total / 2,
            [&](bool more) { move_parts(bench, *storage, part, more); });
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return std::fprintf(stderr, "completions FOLDER [REPEAT]\n"), 2;
  Bench bench{std::string(arguments[1]) + "/completions.tmp",
              count > 2 ? std::atoi(arguments[2]) : 9};
  std::memset(bench.memory.data(), 1, static_cast<std::size_t>(bench.memory.size()));
  const Kind kinds[] = {
      {"posix", [](const auto& path) { return open_posix(path, OpenFlag::create); }},
      {"direct", [](const auto& path) { return open_direct(path, OpenFlag::create, nullptr); }},
      {"uring",
       [](const auto& path) { return open_uring(path, OpenFlag::create, false, 8, nullptr); }},
      {"uring-direct",
       [](const auto& path) { return open_uring(path, OpenFlag::create, true, 8, nullptr); }}};
  std::printf("MB/s, medians of %d in turns, io_depth 8\n%-13s %-14s %8s %9s %9s %6s\n",
              bench.repeat, "storage", "what", "bytes", "one", "several", "ratio");
  for (const Kind& kind : kinds) measure(bench, kind);
  ::unlink(bench.path.c_str());
  return 0;
}
