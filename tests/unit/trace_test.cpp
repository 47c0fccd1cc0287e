// The trace of a process: the content of its file, also after crashes and on full disks.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <thread>
#include <vector>

#include <penstock/error.hpp>

#include "storage_temp_folder.hpp"
#include "support/small_files.hpp"
#include "trace/lane.hpp"
#include "trace/trace.hpp"

namespace penstock::trace {
namespace {

using std::chrono::microseconds;

/// What a reader finds.
struct Contents {
  Header header;
  std::vector<Record> records;  // in their slots; empty ones left out
  std::map<std::pair<Named, std::uint32_t>, std::string> names;

  std::size_t damaged() const {
    std::size_t count = 0;
    for (const Record& record : records) count += record.check == check_of(record) ? 0 : 1;
    return count;
  }
  std::uint16_t kind(const std::string& name) const {
    for (const auto& [key, text] : names)
      if (key.first == Named::kind && text == name) return static_cast<std::uint16_t>(key.second);
    return 0;
  }
  std::vector<Record> of(const std::string& name) const {
    std::vector<Record> found;
    for (const Record& record : records)
      if (record.kind == kind(name)) found.push_back(record);
    return found;
  }
};

void copy_header(Header& to, const char* from) {
  std::memcpy(static_cast<void*>(&to), from, sizeof to);
}

void read_contents(const std::string& path, Contents& contents) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  ASSERT_GE(bytes.size(), 65536U);
  copy_header(contents.header, bytes.data());
  for (std::size_t at = 4096;;) {
    std::uint16_t what = 0, length = 0;
    std::uint32_t number = 0;
    std::memcpy(&what, bytes.data() + at, 2);
    std::memcpy(&length, bytes.data() + at + 2, 2);
    std::memcpy(&number, bytes.data() + at + 4, 4);
    if (length == 0) break;
    contents.names[{static_cast<Named>(what), number}] = bytes.substr(at + 8, length);
    at += (8U + length + 7) / 8 * 8;
  }
  for (std::size_t at = 65536; at + sizeof(Record) <= bytes.size(); at += sizeof(Record)) {
    Record record;
    std::memcpy(&record, bytes.data() + at, sizeof record);
    if (record.check != 0) contents.records.push_back(record);
  }
}

class Traces : public testing::Test {
 protected:
  Settings settings(std::int64_t limit = 1 << 20, WhenFull when_full = WhenFull::newest) const {
    return {folder_.path() + "/deep/traces", limit, when_full};
  }
  static Span span(Phase phase, std::int64_t bytes = 0, std::int64_t offset = -1) {
    const auto now = Span::Clock::now();
    return {7, phase, bytes, offset, now - microseconds(50), now};
  }
  test::TempFolder folder_;
};

constexpr std::uint64_t least_capacity = TraceFile::least_limit / sizeof(Record);

TEST_F(Traces, KeepsEverySpanWithItsFileThreadSizeAndOffset) {
  Trace trace(settings());
  trace.set_rank(3, 8);
  trace.listener("a")->take(span(Phase::file_write, 4096, 8192));
  trace.listener("b")->take(span(Phase::copy, 10));
  std::thread([&] { trace.listener("a")->take(span(Phase::file_read, 5, 0)); }).join();
  EXPECT_EQ(trace.listener("a"), trace.listener("a"));
  Contents found;
  read_contents(trace.path(), found);
  EXPECT_EQ(found.header.rank, 3);
  EXPECT_EQ(found.header.ranks, 8);
  EXPECT_EQ(found.header.ended, 0);
  ASSERT_EQ(found.of("file write").size(), 1U);
  const Record written = found.of("file write").front();
  EXPECT_EQ(written.bytes, 4096);
  EXPECT_EQ(written.offset, 8192);
  EXPECT_EQ(written.operation, 7);
  EXPECT_EQ(written.duration, 50'000);
  EXPECT_EQ((found.names[{Named::file, written.file}]), "a");
  EXPECT_EQ((found.names[{Named::file, found.of("copy").front().file}]), "b");
  EXPECT_EQ((found.names[{Named::lane, written.lane}]), "main thread");
  EXPECT_NE(found.of("file read").front().lane, written.lane);
  EXPECT_EQ(found.damaged(), 0U);
  trace.end();
  read_contents(trace.path(), found);
  EXPECT_GE(found.header.ended, found.header.monotonic);
}

/// Storage is recorded access by access: they follow each other from the span's begin to its end.
TEST_F(Traces, RecordsTheAccessesOfAStorageSpanAndNotTheSpan) {
  Trace trace(settings());
  Recorder recorder(7, trace.listener("f"));
  {
    const Timed storage(recorder, Phase::storage);
    Accesses::current()->begin();
    Accesses::current()->end(Phase::file_read, 10, 100);
    Accesses::current()->begin();
    Accesses::current()->end(Phase::file_write, 20, 200);
  }
  EXPECT_EQ(Accesses::current(), nullptr);
  { const Timed nothing(recorder, Phase::storage); }
  Contents found;
  read_contents(trace.path(), found);
  ASSERT_EQ(found.records.size(), 2U);
  const Record read = found.of("file read").at(0), written = found.of("file write").at(0);
  EXPECT_EQ(read.begin + read.duration, written.begin);
  EXPECT_EQ(read.bytes + read.offset, 110);
  EXPECT_EQ(written.bytes + written.offset, 220);
  EXPECT_EQ(written.operation, 7);
  EXPECT_GE(recorder.counts.time_storage * 1e9 + 1,
            static_cast<double>(read.duration + written.duration));
}

TEST_F(Traces, ACallWithinAnotherIsAPartOfThat) {
  Trace trace(settings());
  Listener* const file = trace.listener("f");
  {
    const WatchedCall whole(file, Phase::open_call);
    { const WatchedCall part(trace.listener("g"), Phase::open_call); }
    { const WatchedCall part(file, Phase::close_call); }
    const Watched metadata(file, Phase::metadata);
    std::thread([&] { const WatchedCall other(file, Phase::sync_call); }).join();
  }
  { const WatchedCall next(file, Phase::close_call); }
  {
    const WatchedCall unseen(nullptr, Phase::open_call);
    const WatchedCall seen(file, Phase::size_call);
  }
  Contents found;
  read_contents(trace.path(), found);
  for (const char* kind : {"open", "close", "metadata", "sync", "size"})
    EXPECT_EQ(found.of(kind).size(), 1U) << kind;
}

TEST_F(Traces, LeavesOutPlansAndWaitsThatTookNoTime) {
  Trace trace(settings());
  for (const Phase phase : {Phase::plan, Phase::wait, Phase::copy}) {
    trace.listener("f")->take(span(phase));
    Span quick = span(phase);
    quick.begin = quick.end - std::chrono::nanoseconds(500);
    trace.listener("f")->take(quick);
  }
  Contents found;
  read_contents(trace.path(), found);
  EXPECT_EQ(found.of("plan").size(), 1U);
  EXPECT_EQ(found.of("wait").size(), 1U);
  EXPECT_EQ(found.of("copy").size(), 2U);
}

TEST_F(Traces, ThreadsRecordTogether) {
  Trace trace(settings(16 << 20));
  constexpr int threads = 4, each = 20'000;
  std::vector<std::thread> all;
  all.reserve(threads);
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) trace.listener("f")->take(span(Phase::copy, t));
    });
  for (std::thread& thread : all) thread.join();
  Contents found;
  read_contents(trace.path(), found);
  EXPECT_EQ(found.damaged(), 0U);
  const std::vector<Record> copies = found.of("copy");
  EXPECT_EQ(copies.size(), static_cast<std::size_t>(threads * each));
  std::map<std::int64_t, std::uint16_t> lane_of;
  for (const Record& copy : copies) {
    const auto [known, is_new] = lane_of.emplace(copy.bytes, copy.lane);
    ASSERT_EQ(known->second, copy.lane);
  }
  EXPECT_EQ(lane_of.size(), static_cast<std::size_t>(threads));
}

TEST_F(Traces, IsARingOrStopsAtItsLimitAndSaysSo) {
  for (const WhenFull when_full : {WhenFull::newest, WhenFull::oldest}) {
    testing::internal::CaptureStderr();
    Trace trace(settings(TraceFile::least_limit, when_full));
    for (std::uint64_t i = 0; i < least_capacity + 100; ++i)
      trace.listener("f")->take(span(Phase::copy, static_cast<std::int64_t>(i)));
    const std::string text = testing::internal::GetCapturedStderr();
    Contents found;
    read_contents(trace.path(), found);
    EXPECT_EQ(found.header.capacity, least_capacity);
    EXPECT_GE(found.header.recorded, least_capacity + 100);
    EXPECT_EQ(found.records.size(), least_capacity);
    EXPECT_EQ(found.damaged(), 0U);
    // On a busy machine there are samples of the run queue in between.
    const bool newest = when_full == WhenFull::newest;
    const auto [least, most] = std::ranges::minmax(found.of("copy"), {}, &Record::bytes);
    EXPECT_EQ(least.bytes == 0, !newest);
    EXPECT_EQ(most.bytes == static_cast<std::int64_t>(least_capacity) + 99, newest);
    EXPECT_NE(text.find("is full"), std::string::npos) << text;
    EXPECT_NE(text.find(newest ? "replace the oldest" : "nothing more"), std::string::npos) << text;
  }
}

TEST_F(Traces, GrowsByWholeBlocks) {
  Trace trace(settings());
  const auto size = [&] { return std::filesystem::file_size(trace.path()); };
  EXPECT_EQ(size(), 65536U + TraceFile::block);
  for (std::uint64_t i = 0; i <= least_capacity / 2; ++i)
    trace.listener("f")->take(span(Phase::copy));
  EXPECT_EQ(size(), 65536U + 2 * TraceFile::block);
}

/// The process is killed while it records: its records survive.
TEST_F(Traces, SurvivesItsProcess) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Trace trace(settings());
    for (int i = 0; i < 1000; ++i) trace.listener("f")->take(span(Phase::copy, i));
    static_cast<void>(::write(ready[1], trace.path().c_str(), trace.path().size() + 1));
    for (;;) ::pause();
  }
  char path[4096] = "";
  ASSERT_GT(::read(ready[0], path, sizeof path), 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  Contents found;
  read_contents(path, found);
  EXPECT_EQ(found.of("copy").size(), 1000U);
  EXPECT_EQ(found.damaged(), 0U);
  EXPECT_EQ(found.header.ended, 0);
}

/// The trace ends, but the program does not.
TEST_F(Traces, StopsWhereTheDiskIsFull) {
  testing::internal::CaptureStderr();
  Trace trace(settings());
  {
    const test::SmallFiles full(65536 + TraceFile::block);
    for (std::uint64_t i = 0; i < least_capacity; ++i) trace.listener("f")->take(span(Phase::copy));
  }
  const std::string text = testing::internal::GetCapturedStderr();
  Contents found;
  read_contents(trace.path(), found);
  EXPECT_EQ(found.header.stopped, EFBIG);
  EXPECT_EQ(found.records.size(), TraceFile::block / sizeof(Record));
  EXPECT_NE(text.find("no space for more"), std::string::npos) << text;
  EXPECT_EQ(text.find("no space for more"), text.rfind("no space for more"));
}

/// A thread that shares its core with another waits for it, and the trace has the time.
TEST_F(Traces, TellsHowLongThreadsWaitForACore) {
  RunTimes times;
  if (!ThreadLane().read(times)) GTEST_SKIP() << "the kernel has no /proc/self/task/TID/schedstat";
  Trace trace(settings());
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &before) && CPU_COUNT(&one) == 0) CPU_SET(core, &one);
  ::sched_setaffinity(0, sizeof one, &one);
  const auto work = [&] {
    const auto end = Span::Clock::now() + std::chrono::milliseconds(300);
    for (auto now = Span::Clock::now(); now < end;) {
      const auto until = now + std::chrono::milliseconds(1);
      while (now < until) now = Span::Clock::now();
      trace.listener("f")->take(span(Phase::copy));
    }
  };
  std::thread other(work);
  work();
  other.join();
  ::sched_setaffinity(0, sizeof before, &before);
  Contents found;
  read_contents(trace.path(), found);
  std::int64_t waiting = 0, running = 0;
  for (const Record& record : found.of("run queue")) {
    waiting += record.bytes;
    running += record.offset;
    EXPECT_LE(record.bytes, record.duration + 20'000'000);
  }
  EXPECT_GT(waiting, 100'000'000);  // of 600 ms, two threads on one core
  EXPECT_GT(running, 0);
}

/// Names have a limited space; files without a name are recorded all the same.
TEST_F(Traces, RecordsFilesThatItHasNoRoomToName) {
  Trace trace(settings());
  const std::string long_path(3000, 'x');
  for (int i = 0; i < 40; ++i)
    trace.listener(long_path + std::to_string(i))->take(span(Phase::copy, i));
  Contents found;
  read_contents(trace.path(), found);
  ASSERT_EQ(found.of("copy").size(), 40U);
  EXPECT_NE(found.of("copy").front().file, 0U);
  EXPECT_EQ(found.of("copy").back().file, 0U);
  EXPECT_EQ((found.names[{Named::lane, found.of("copy").back().lane}]), "main thread");
}

TEST_F(Traces, AForkedChildRecordsNothing) {
  Trace trace(settings());
  trace.forget();
  trace.listener("f")->take(span(Phase::copy));
  trace.end();
  Contents found;
  read_contents(trace.path(), found);
  EXPECT_EQ(found.records.size(), 0U);
  EXPECT_EQ(found.header.ended, 0);
}

TEST_F(Traces, SettingsAreCheckedInWords) {
  const auto error_of = [](const char* name, const char* value) -> std::string {
    ::setenv(name, value, 1);
    std::string text;
    try {
      Settings::of_environment();
    } catch (const Error& error) {
      text = error.what();
    }
    ::unsetenv(name);
    return text;
  };
  EXPECT_EQ(error_of("PENSTOCK_TRACE_LIMIT", "64M"), "");
  EXPECT_NE(error_of("PENSTOCK_TRACE_LIMIT", "much").find("PENSTOCK_TRACE_LIMIT: 'much'"),
            std::string::npos);
  EXPECT_NE(error_of("PENSTOCK_TRACE_LIMIT", "1K").find("less than"), std::string::npos);
  EXPECT_NE(error_of("PENSTOCK_TRACE_KEEP", "all").find("newest, oldest"), std::string::npos);
  Settings nowhere = settings();
  nowhere.folder = "/proc/nowhere";
  EXPECT_THROW(Trace{nowhere}, Error);
}

}  // namespace
}  // namespace penstock::trace
