// The modelled device: its specification, its times, and which of them overlap. Upper bounds of
// times are generous, since the machine has other work; exact times are read from the model's
// clock.
#include <gtest/gtest.h>
#include <time.h>

#include <chrono>
#include <thread>

#include <penstock/error.hpp>

#include "storage/fault.hpp"
#include "storage/paced.hpp"
#include "storage_scripted.hpp"
#include "storage_temp_folder.hpp"

namespace penstock {
namespace {

using test::pattern;
using Clock = std::shared_ptr<PaceClock>;
constexpr std::int64_t millisecond = 1'000'000;

std::unique_ptr<Storage> paced(std::string_view spec, const Clock& clock, int rank = 0) {
  return keep_pace(make_memory_storage("m", 100), Pace::parse(spec), clock, rank);
}

template <class Work>
double seconds_of(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Each thread is a rank with a storage of its own.
template <class Work>
double seconds_of_threads(int threads, std::string_view spec, const Clock& clock, Work&& work) {
  return seconds_of([&] {
    std::vector<std::thread> all;
    for (int rank = 0; rank < threads; ++rank)
      all.emplace_back([&, rank] { work(*paced(spec, clock, rank)); });
    for (std::thread& thread : all) thread.join();
  });
}

/// Nanoseconds by which `work` advances the server's clock, from a time in the far future.
template <class Work>
std::int64_t booked(const Clock& clock, Work&& work) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  // Far enough ahead that the server is never idle in between.
  const std::int64_t begin = now.tv_sec * 1000 * millisecond + now.tv_nsec + 100 * millisecond;
  clock->next_free[0] = begin;
  work();
  return clock->next_free[0] - begin;
}

TEST(Paced, SpecificationIsRead) {
  const Pace pace =
      Pace::parse("bandwidth=2G,latency=500us,writers=4,slowdown=0.5,variance=0.1,seed=7");
  EXPECT_EQ(pace.bandwidth, std::int64_t{2} << 30);
  EXPECT_EQ(pace.latency, 500'000);
  EXPECT_EQ(pace.writers, 4);
  EXPECT_EQ(pace.slowdown, 0.5);
  EXPECT_EQ(pace.variance, 0.1);
  EXPECT_EQ(pace.seed, 7u);
  EXPECT_FALSE(pace.page_cache);
  EXPECT_TRUE(Pace::parse("page_cache=1").page_cache);
  EXPECT_EQ(Pace::parse("").bandwidth, 100 << 20);
  EXPECT_EQ(Pace::parse("").latency, 0);
  EXPECT_EQ(Pace::parse("latency=1ms").latency, millisecond);
  EXPECT_EQ(Pace::parse("latency=0.01s").latency, 10 * millisecond);
  EXPECT_EQ(Pace::parse("latency=0").latency, 0);
}

TEST(Paced, IsToldInWords) {
  EXPECT_EQ(Pace::parse("").text(), "100 MiB/s shared");
  EXPECT_EQ(Pace::parse("bandwidth=1536K,latency=1ms").text(), "1.5 MiB/s shared, 1 ms a request");
  EXPECT_EQ(Pace::parse("bandwidth=8M,servers=4").text(), "8 MiB/s of 4 servers");
  EXPECT_EQ(Pace::parse("bandwidth=1G,writers=2,variance=0.25").text(),
            "1 GiB/s shared, writes slower by 20 % for each one beyond 2 at a time, varying by "
            "25 %");
}

TEST(Paced, ThreadsShareTheBandwidth) {
  const auto clock = std::make_shared<PaceClock>();
  const double seconds = seconds_of_threads(2, "bandwidth=10M", clock, [](Storage& storage) {
    for (int i = 0; i < 16; ++i)
      EXPECT_EQ(storage.write_some(pattern(64 << 10), i * (64 << 10)), 64 << 10);
  });
  EXPECT_GE(seconds, 0.95 * 0.2);  // 2 MiB at 10 MiB/s
  EXPECT_LE(seconds, 2 * 0.2);
}

TEST(Paced, LargeRequestsProceedSideBySide) {
  // If requests were served as a whole, the small one would wait for all of the large one.
  const auto clock = std::make_shared<PaceClock>();
  const auto large = paced("bandwidth=20M", clock), small = paced("bandwidth=20M", clock, 1);
  std::thread thread([&] { large->write_some(pattern(10 << 20), 0); });  // 500 ms
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LT(seconds_of([&] { small->write_some(pattern(1000), 0); }), 0.25);
  thread.join();
}

TEST(Paced, ThreadsOfOneStorageQueueUpToo) {
  const auto clock = std::make_shared<PaceClock>();
  const auto storage = paced("bandwidth=10M", clock);
  std::vector<std::vector<std::byte>> memory(3, std::vector<std::byte>(1 << 20));
  storage->write_some(pattern(1 << 20), 0);
  const double seconds = seconds_of([&] {
    std::vector<std::thread> threads;
    for (auto& into : memory)
      threads.emplace_back([&] { EXPECT_EQ(storage->read_some(into, 0), 1 << 20); });
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_GE(seconds, 0.95 * 0.3);
  for (const auto& into : memory) EXPECT_TRUE(into == pattern(1 << 20));
}

TEST(Paced, ServersHaveAPartOfTheBandwidthEach) {
  const auto clock = std::make_shared<PaceClock>();
  const auto own = paced("bandwidth=100M,servers=4", clock),
             other = paced("bandwidth=100M,servers=4", clock, 5),
             same = paced("bandwidth=100M,servers=4", clock, 8);
  const auto write = [](Storage& storage) { storage.write_some(pattern(1 << 20), 0); };
  EXPECT_EQ(booked(clock, [&] { write(*own); }), 40 * millisecond);
  EXPECT_EQ(booked(clock, [&] { write(*other); }), 0);  // it has another server, which was idle
  EXPECT_NE(clock->next_free[1], 0);
  EXPECT_EQ(booked(clock, [&] { write(*same); }), 40 * millisecond);
}

TEST(Paced, LatencyIsOfEachRequestAndOverlaps) {
  const auto clock = std::make_shared<PaceClock>();
  const auto three = [](Storage& storage) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(storage.write_some(pattern(8), 0), 8);
  };
  const double seconds = seconds_of_threads(4, "bandwidth=1G,latency=50ms", clock, three);
  EXPECT_GE(seconds, 0.15);
  EXPECT_LE(seconds, 0.35);  // in sequence: 0.6
}

TEST(Paced, SyncTakesALatencyAndTheRestNothing) {
  const auto clock = std::make_shared<PaceClock>();
  const auto storage = paced("latency=100ms", clock);
  EXPECT_GE(seconds_of([&] { EXPECT_EQ(storage->sync(), 0); }), 0.1);
  EXPECT_LT(seconds_of([&] {
              int error = 0;
              EXPECT_EQ(storage->resize(50), 0);
              EXPECT_EQ(storage->size(), 50);
              EXPECT_NE(storage->lock({0, 10}, LockKind::exclusive, error), nullptr);
            }),
            0.1);
}

TEST(Paced, TheServerIsBookedForWhatIsMoved) {
  const auto clock = std::make_shared<PaceClock>();
  const auto storage = paced("bandwidth=100M", clock);
  const auto five = pattern(5 << 20);  // takes long under a sanitizer
  EXPECT_EQ(booked(clock, [&] { storage->write_some(five, 0); }), 50 * millisecond);
  std::vector<std::byte> into(1 << 20);
  EXPECT_EQ(booked(clock, [&] { storage->read_some(into, 0); }), 10 * millisecond);
  // Only the first piece is queued before it is known how much there is to read.
  std::vector<std::byte> beyond(8 << 20);
  EXPECT_EQ(booked(clock, [&] { EXPECT_EQ(storage->read_some(beyond, 4 << 20), 1 << 20); }),
            10 * millisecond);
}

TEST(Paced, RequestsThatFailTakeTheirTime) {
  const auto clock = std::make_shared<PaceClock>();
  const auto storage = keep_pace(inject_faults(make_memory_storage("m"), "write@0=ENOSPC", 0),
                                 Pace::parse("bandwidth=100M"), clock, 0);
  EXPECT_EQ(booked(clock, [&] { EXPECT_EQ(storage->write_some(pattern(2 << 20), 0), -ENOSPC); }),
            20 * millisecond);
  EXPECT_EQ(clock->writing, 0);
  EXPECT_EQ(storage->write_some(pattern(10), 0), 10);
}

TEST(Paced, WritersBeyondTheLimitSlowWritesDown) {
  const auto clock = std::make_shared<PaceClock>();
  const auto storage = paced("bandwidth=100M,writers=2,slowdown=0.5", clock);
  const auto write = [&] { storage->write_some(pattern(1 << 20), 0); };
  EXPECT_EQ(booked(clock, write), 10 * millisecond);
  clock->writing = 1;  // of another rank
  EXPECT_EQ(booked(clock, write), 10 * millisecond);
  clock->writing = 3;
  EXPECT_EQ(booked(clock, write), 20 * millisecond);
  std::vector<std::byte> into(1 << 20);
  EXPECT_EQ(booked(clock, [&] { storage->read_some(into, 0); }), 10 * millisecond);
  EXPECT_EQ(clock->writing, 3);
}

TEST(Paced, ManyWritersTakeLongerThanFew) {
  const auto clock = std::make_shared<PaceClock>();
  const double seconds =
      seconds_of_threads(4, "bandwidth=10M,writers=1,slowdown=1", clock, [](Storage& storage) {
        for (int i = 0; i < 4; ++i) storage.write_some(pattern(64 << 10), i * (64 << 10));
      });
  EXPECT_GE(seconds, 1.5 * 0.1);  // 1 MiB; with all four in progress it would be 0.4 s
}

TEST(Paced, VarianceCanBeRepeated) {
  const auto times = [](std::string_view spec, int rank) {
    const auto clock = std::make_shared<PaceClock>();
    const auto storage = paced(spec, clock, rank);
    std::vector<std::int64_t> all;
    for (int i = 0; i < 5; ++i)
      all.push_back(booked(clock, [&] { storage->write_some(pattern(10 << 10), 0); }));
    return all;
  };
  const auto first = times("bandwidth=10M,variance=0.5,seed=3", 1);
  EXPECT_EQ(times("bandwidth=10M,variance=0.5,seed=3", 1), first);
  EXPECT_NE(times("bandwidth=10M,variance=0.5,seed=3", 2), first);
  EXPECT_NE(times("bandwidth=10M,variance=0.5,seed=4", 1), first);
}

TEST(Paced, VarianceIsUniform) {
  const Pace pace = Pace::parse("variance=0.4,seed=1");
  double sum = 0, least = 2, most = 0;
  constexpr int requests = 10000;
  for (int i = 0; i < requests; ++i) {
    const double factor = pace.variation(3, i);
    sum += factor;
    least = std::min(least, factor);
    most = std::max(most, factor);
  }
  EXPECT_NEAR(sum / requests, 1, 0.01);
  EXPECT_NEAR(least, 0.6, 0.01);
  EXPECT_NEAR(most, 1.4, 0.01);
  EXPECT_EQ(Pace::parse("").variation(3, 5), 1);
}

struct BadPace {
  const char* spec;
  const char* words;
};
void PrintTo(const BadPace& bad, std::ostream* out) {
  *out << bad.spec;
}
class BadPaceSpec : public testing::TestWithParam<BadPace> {};

TEST_P(BadPaceSpec, SaysWhatIsWrong) {
  try {
    Pace::parse(GetParam().spec);
    ADD_FAILURE() << "accepted: " << GetParam().spec;
  } catch (const Error& error) {
    EXPECT_EQ(error.error_class(), ErrorClass::argument);
    EXPECT_NE(std::string(error.what()).find(GetParam().words), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("paced"), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Specs, BadPaceSpec,
    testing::Values(
        BadPace{"speed=3", "'speed' is not known; known are bandwidth, servers, latency"},
        BadPace{"bandwidth", "NAME=VALUE"}, BadPace{",", "NAME=VALUE"},
        BadPace{"bandwidth=1M,", "NAME=VALUE"}, BadPace{"bandwidth=1M,,seed=1", "NAME=VALUE"},
        BadPace{"bandwidth=fast", "bandwidth: 'fast' is not a size"},
        BadPace{"bandwidth=", "not a size"}, BadPace{"bandwidth=0", "at least one byte"},
        BadPace{"bandwidth=-1", "not a size"}, BadPace{"latency=1", "with its unit"},
        BadPace{"latency=ms", "with its unit"}, BadPace{"latency=-1ms", "with its unit"},
        BadPace{"latency=61s", "to 60s"}, BadPace{"latency=nans", "to 60s"},
        BadPace{"latency=infs", "to 60s"}, BadPace{"latency=1 ms", "with its unit"},
        BadPace{"writers=0", "at least 1"}, BadPace{"writers=two", "at least 1"},
        BadPace{"servers=0", "from 1 to 64"}, BadPace{"servers=65", "from 1 to 64"},
        BadPace{"slowdown=0.2", "needs writers"}, BadPace{"writers=1,slowdown=-1", "from 0"},
        BadPace{"variance=1.5", "from 0 to 1"}, BadPace{"variance=nan", "from 0 to 1"},
        BadPace{"page_cache=yes", "0 or 1"}, BadPace{"seed=-1", "at least 0"},
        BadPace{"seed=1,seed=2", "given twice"}));

}  // namespace
}  // namespace penstock
