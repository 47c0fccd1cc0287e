// One I/O queue for a device against one for each file of it: how long writes of several files
// take, through the page cache and past it, and what they cost a program that computes meanwhile.
//   io_queues FOLDER [REPEAT]      writes 128 MiB a time, and removes its files
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "background/background_io.hpp"
#include "base/buffer.hpp"
#include "storage/storage.hpp"

using namespace penstock;

namespace {

constexpr std::int64_t unit_bytes = 4 << 20, total_bytes = 128 << 20;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// Threads that compute on all cores, and the work they complete.
class Computation {
 public:
  explicit Computation(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i)
      threads_.emplace_back([this] {
        while (!stop_) {
          double x = 1;
          for (int k = 0; k < 20'000; ++k) x = x * 1.0000001 + 1e-9;
          steps_ += x > 0 ? 1 : 2;
        }
      });
  }
  ~Computation() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  std::int64_t steps() const { return steps_; }

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<std::int64_t> steps_ = 0;
  std::vector<std::thread> threads_;
};

struct Taken {
  double seconds, steps_a_second;
};

Taken write_files(const std::string& folder, int files, bool direct, bool queue_a_file,
                  const Computation& beside) {
  static const Buffer source(unit_bytes, nullptr);
  BackgroundIo background;
  std::vector<std::unique_ptr<Storage>> storages;
  std::vector<std::shared_ptr<BufferedFile>> records;
  Placement gentle;
  gentle.policy = Placement::gentle;
  for (int i = 0; i < files; ++i) {
    const std::string path = folder + "/io_queues." + std::to_string(i);
    ::unlink(path.c_str());
    storages.push_back(direct ? open_direct(path, OpenFlag::create, nullptr)
                              : open_posix(path, OpenFlag::create));
    const auto number = static_cast<std::uint64_t>(i) + 1;
    records.push_back(
        background.file({1, number}, {1, queue_a_file ? number : 0, !direct}, path, "io_queues"));
  }
  const double begin = now();
  const std::int64_t steps = beside.steps();
  for (std::int64_t at = 0; at < total_bytes / files; at += unit_bytes)
    for (int i = 0; i < files; ++i) {
      IoUnit unit;
      unit.extent = {at, at + unit_bytes};
      unit.placement = gentle;
      unit.work = [&storage = *storages[static_cast<std::size_t>(i)], at] {
        const Transfer done =
            write_fully(storage, {source.data(), static_cast<std::size_t>(unit_bytes)}, at);
        if (done.error != 0) throw Error("writing", storage.path(), at, done.error);
      };
      records[static_cast<std::size_t>(i)]->submit(std::move(unit));
    }
  for (const auto& record : records) record->drain();
  const double seconds = now() - begin;
  const auto stepped = static_cast<double>(beside.steps() - steps);
  for (const auto& record : records) record->mark_synced();
  for (const auto& storage : storages) ::unlink(storage->path().c_str());
  return {seconds, stepped / seconds};
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return std::fprintf(stderr, "io_queues FOLDER [REPEAT]\n"), 2;
  const int repeat = count > 2 ? std::atoi(arguments[2]) : 7;
  const unsigned cores = std::thread::hardware_concurrency();
  std::printf("%lld MiB in units of %lld MiB, %u cores; medians of %d, in turns\n",
              static_cast<long long>(total_bytes >> 20), static_cast<long long>(unit_bytes >> 20),
              cores, repeat);
  std::printf("%-10s %-9s %5s %11s %11s %6s %s\n", "way", "beside", "files", "device MB/s",
              "file MB/s", "ratio", "computation, file/device");
  for (const bool direct : {false, true})
    for (const bool computing : {false, true})
      for (const int files : {1, 2, 4}) {
        const Computation beside(computing ? cores : 0);
        std::vector<double> seconds[2], steps[2];
        for (int turn = 0; turn < repeat; ++turn)
          for (const int way : {turn % 2, 1 - turn % 2}) {
            const Taken taken = write_files(arguments[1], files, direct, way == 1, beside);
            seconds[way].push_back(taken.seconds);
            steps[way].push_back(taken.steps_a_second);
          }
        const double device = median(seconds[0]), file = median(seconds[1]);
        std::printf("%-10s %-9s %5d %11.0f %11.0f %6.2f ", direct ? "O_DIRECT" : "page cache",
                    computing ? "computing" : "nothing", files, total_bytes / device / 1e6,
                    total_bytes / file / 1e6, file / device);
        if (computing) std::printf("%.2f", median(steps[1]) / median(steps[0]));
        std::printf("\n");
        std::fflush(stdout);
      }
  return 0;
}
