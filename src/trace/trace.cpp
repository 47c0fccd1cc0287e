#include "trace/trace.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include <penstock/error.hpp>
#include <penstock/hints.hpp>

#include "trace/lane.hpp"

namespace penstock::trace {
namespace {

/// By Phase. The one without a name is not recorded: storage is recorded access by access.
constexpr std::array<std::string_view, phases> kind_names{
    "in flight",   "plan",         "exchange",  "copy",       "",         "wait",
    "room",        "metadata",     "open",      "close",      "read",     "write",
    "begin read",  "begin write",  "end",       "sync",       "size",     "other call",
    "simple read", "simple write", "file read", "file write", "file sync"};
/// A thread's use of the processors in an interval: the field `bytes` has the nanoseconds it waited
/// for a core, `offset` those it ran.
constexpr std::uint16_t run_queue = phases + 1;

/// Nanoseconds; shorter spans of some phases are not recorded: a single process has little to plan,
/// and nobody to wait for. In a call of some microseconds they would be half of the records.
constexpr std::int64_t shortest = 1000;
constexpr std::int64_t sample_every = 10'000'000;  // ns; a sample takes some microseconds
constexpr std::size_t room_for_lanes = 16 * 1024;  // of names

constexpr std::uint16_t kind_of(Phase phase) noexcept {
  return static_cast<std::uint16_t>(static_cast<int>(phase) + 1);
}

std::int64_t nanoseconds(Span::Clock::time_point time) noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

std::string path_in(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw Error("making the folder '" + folder + "' of the trace: " + error.message(), folder, -1,
                error.value());
  char host[64] = "";
  ::gethostname(host, sizeof host - 1);
  const std::string stem = folder + "/" + host + "." + std::to_string(::getpid());
  std::string path = stem + ".trace";
  for (int i = 1; std::filesystem::exists(path, error); ++i)
    path = stem + "-" + std::to_string(i) + ".trace";
  return path;
}

std::int64_t limit_of(std::string_view text) {
  try {
    const std::int64_t limit = parse_bytes(text);
    if (limit >= TraceFile::least_limit) return limit;
    throw Error(ErrorClass::argument, "'" + std::string(text) + "' is less than " +
                                          std::to_string(TraceFile::least_limit) + " bytes");
  } catch (const Error& error) {
    throw Error(ErrorClass::argument, std::string("PENSTOCK_TRACE_LIMIT: ") + error.what());
  }
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

Settings Settings::of_environment() {
  Settings settings;
  const auto value = [](const char* name) -> std::string_view {
    const char* const text = std::getenv(name);
    return text == nullptr ? "" : text;
  };
  settings.folder = value("PENSTOCK_TRACE");
  if (const auto limit = value("PENSTOCK_TRACE_LIMIT"); !limit.empty())
    settings.limit = limit_of(limit);
  const auto keep = value("PENSTOCK_TRACE_KEEP");
  if (keep == "oldest") settings.when_full = WhenFull::oldest;
  else if (!keep.empty() && keep != "newest")
    throw Error(ErrorClass::argument,
                "PENSTOCK_TRACE_KEEP is '" + std::string(keep) + "'; known are newest, oldest");
  return settings;
}

/// The listener of one file.
class Trace::OfFile : public Listener {
 public:
  OfFile(Trace& trace, std::uint32_t number) : trace_(trace), number_(number) {}
  void take(const Span& span) noexcept override { trace_.take(span, number_); }

 private:
  Trace& trace_;
  std::uint32_t number_;
};

/// A thread's state in the trace that it last recorded in.
struct Trace::Thread {
  std::uint64_t trace = 0;
  std::uint16_t number = 0;
  std::optional<ThreadLane> lane;
  std::int64_t sampled = 0;
  RunTimes before;
};

Trace::Trace(const Settings& settings)
    : file_(path_in(settings.folder), settings.limit, settings.when_full), number_(next_number()) {
  for (std::size_t i = 0; i < kind_names.size(); ++i)
    file_.name(Named::kind, static_cast<std::uint32_t>(i + 1), kind_names[i]);
  file_.name(Named::kind, run_queue, "run queue");
}

Trace::~Trace() = default;

Listener* Trace::listener(const std::string& path) {
  const std::lock_guard guard(mutex_);
  auto& found = files_[path];
  if (found != nullptr) return found.get();
  auto number = static_cast<std::uint32_t>(files_.size());
  // Once there is no room for names, files have none.
  if (!file_.name(Named::file, number, std::string_view(path).substr(0, 4096), room_for_lanes))
    number = 0;
  found = std::make_unique<OfFile>(*this, number);
  return found.get();
}

void Trace::set_rank(int rank, int ranks) noexcept {
  file_.header().ranks = ranks;
  file_.header().rank = rank;
}

void Trace::end() noexcept {
  if (!forgotten_) file_.header().ended = nanoseconds(Span::Clock::now());
}

Trace::Thread& Trace::thread() noexcept {
  static thread_local Thread mine;
  if (mine.trace != number_) begin_thread(mine);
  return mine;
}

void Trace::begin_thread(Thread& thread) {
  thread.trace = number_;
  thread.number = lanes_.fetch_add(1, std::memory_order_relaxed);
  thread.lane.emplace();
  thread.sampled = nanoseconds(Span::Clock::now());
  thread.lane->read(thread.before);
  file_.name(Named::lane, thread.number, thread.lane->text());
}

void Trace::take(const Span& span, std::uint32_t file) noexcept {
  if (kind_names[static_cast<std::size_t>(span.phase)].empty() || forgotten_) return;
  Record record;
  record.begin = nanoseconds(span.begin);
  const std::int64_t end = nanoseconds(span.end);
  record.duration = end - record.begin;
  const bool may_be_short = span.phase == Phase::plan || span.phase == Phase::wait;
  if (may_be_short && record.duration < shortest) return;
  Thread& mine = thread();
  record.offset = span.offset;
  record.bytes = span.bytes;
  record.operation = span.operation;
  record.kind = kind_of(span.phase);
  record.lane = mine.number;
  record.file = file;
  file_.add(record);
  if (end - mine.sampled > sample_every || span.phase == Phase::close_call) sample(mine, end);
}

void Trace::sample(Thread& thread, std::int64_t now) noexcept {
  RunTimes times;
  if (!thread.lane->read(times)) {
    thread.sampled = std::max(thread.sampled, now);
    return;
  }
  Record record;
  record.begin = thread.sampled;
  record.duration = std::max<std::int64_t>(now - thread.sampled, 0);
  record.bytes = times.waiting - thread.before.waiting;
  record.offset = times.running - thread.before.running;
  record.kind = run_queue;
  record.lane = thread.number;
  thread.sampled = std::max(thread.sampled, now);
  thread.before = times;
  file_.add(record);
}

namespace {

Trace* process_trace = nullptr;

/// Never destroyed: threads may record until the process ends.
Trace* make_process_trace() {
  try {
    const Settings settings = Settings::of_environment();
    if (settings.folder.empty()) return nullptr;
    process_trace = new Trace(settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "penstock: no trace is kept: %s\n", error.what());
    return nullptr;
  }
  std::atexit([] { process_trace->end(); });
  ::pthread_atfork(nullptr, nullptr, [] { process_trace->forget(); });
  return process_trace;
}

}  // namespace

Trace* of_process() {
  static Trace* const trace = make_process_trace();
  return trace;
}

}  // namespace penstock::trace
