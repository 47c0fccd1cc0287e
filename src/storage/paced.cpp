#include "storage/paced.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <vector>

#include <penstock/error.hpp>
#include <penstock/hints.hpp>

namespace penstock {
namespace {

constexpr std::int64_t second = 1'000'000'000;
/// Larger requests are queued piece by piece, so that several ranks' requests proceed concurrently.
constexpr std::int64_t piece_bytes = 1 << 20;

[[noreturn]] void refuse_pace(const std::string& what) {
  throw Error(ErrorClass::argument, "device paced: " + what);
}

[[noreturn]] void refuse_pace_value(std::string_view name, std::string_view value,
                                    const char* expected) {
  refuse_pace(std::string(name) + " must be " + expected + ", not '" + std::string(value) + "'");
}

template <class Number>
bool read_all(std::string_view text, Number& number) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  return status == std::errc() && end == text.data() + text.size();
}

std::int64_t parse_bandwidth(std::string_view name, std::string_view value) {
  std::int64_t bytes = 0;
  try {
    bytes = parse_bytes(value);
  } catch (const Error& error) {
    refuse_pace(std::string(name) + ": " + error.what());
  }
  if (bytes == 0) refuse_pace_value(name, value, "at least one byte a second");
  return bytes;
}

std::int64_t parse_time(std::string_view name, std::string_view value) {
  constexpr double most = 60;  // seconds: anything longer is a mistake, and would look like a hang
  double factor = value == "0" ? 1 : 0;
  std::string_view digits = value;
  for (const auto& [unit, seconds] :
       {std::pair<std::string_view, double>{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}})
    if (factor == 0 && value.ends_with(unit)) {
      factor = seconds;
      digits.remove_suffix(unit.size());
    }
  double number = 0;
  const bool good = factor != 0 && read_all(digits, number) && number >= 0;
  if (!good || !(number * factor <= most))
    refuse_pace_value(name, value,
                      "a time from 0 to 60s with its unit, such as 500us, 1ms or 0.01s");
  return std::llround(number * factor * second);
}

double parse_fraction(std::string_view name, std::string_view value, double most,
                      const char* expected) {
  double number = 0;
  if (!read_all(value, number) || !(number >= 0 && number <= most))
    refuse_pace_value(name, value, expected);
  return number;
}

std::int64_t parse_writers(std::string_view name, std::string_view value) {
  std::int64_t number = 0;
  if (!read_all(value, number) || number < 1)
    refuse_pace_value(name, value, "a number of at least 1");
  return number;
}

std::int64_t parse_servers(std::string_view name, std::string_view value) {
  std::int64_t number = 0;
  if (!read_all(value, number) || number < 1 ||
      number > static_cast<std::int64_t>(PaceClock::most_servers))
    refuse_pace_value(name, value,
                      ("a number from 1 to " + std::to_string(PaceClock::most_servers)).c_str());
  return number;
}

std::uint64_t parse_seed(std::string_view name, std::string_view value) {
  std::uint64_t number = 0;
  if (!read_all(value, number)) refuse_pace_value(name, value, "a number of at least 0");
  return number;
}

bool parse_yes(std::string_view name, std::string_view value) {
  if (value != "0" && value != "1") refuse_pace_value(name, value, "0 or 1");
  return value == "1";
}

void set(Pace& pace, std::string_view name, std::string_view value) {
  if (name == "bandwidth") pace.bandwidth = parse_bandwidth(name, value);
  else if (name == "servers") pace.servers = parse_servers(name, value);
  else if (name == "latency") pace.latency = parse_time(name, value);
  else if (name == "writers") pace.writers = parse_writers(name, value);
  else if (name == "slowdown")
    pace.slowdown = parse_fraction(name, value, 1000, "a fraction from 0 to 1000, such as 0.2");
  else if (name == "variance")
    pace.variance = parse_fraction(name, value, 1, "a fraction from 0 to 1");
  else if (name == "seed") pace.seed = parse_seed(name, value);
  else if (name == "page_cache") pace.page_cache = parse_yes(name, value);
  else
    refuse_pace("'" + std::string(name) +
                "' is not known; known are bandwidth, servers, latency, writers, slowdown, "
                "variance, seed, page_cache");
}

/// Four significant digits, without trailing zeros.
std::string short_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

std::string scaled(double number, double step, const std::array<const char*, 4>& units) {
  std::size_t unit = 0;
  for (; unit + 1 < units.size() && number >= step; ++unit) number /= step;
  return short_text(number) + " " + units[unit];
}

/// Sebastiano Vigna's splitmix64: neighbouring numbers give unrelated ones.
std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::int64_t now() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * second + t.tv_nsec;
}

/// Absolute time, so an interrupting signal does not prolong it.
void sleep_until(std::int64_t when) noexcept {
  timespec t{};
  t.tv_sec = when / second;
  t.tv_nsec = when % second;
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
  }
}

class PacedStorage : public Storage {
 public:
  PacedStorage(std::unique_ptr<Storage> inner, const Pace& pace, std::shared_ptr<PaceClock> clock,
               int rank)
      : inner_(std::move(inner)), pace_(pace), clock_(std::move(clock)), rank_(rank) {}

  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override {
    const bool writes = direction == Direction::write;
    if (writes) clock_->writing.fetch_add(1, std::memory_order_relaxed);
    const std::int64_t moved = request(
        size_of(memory), writes, [&] { return inner_->move_some(direction, memory, offset); });
    if (writes) clock_->writing.fetch_sub(1, std::memory_order_relaxed);
    return moved;
  }
  bool bypass_cache(bool past) override { return inner_->bypass_cache(past); }
  void forget_cached() override { inner_->forget_cached(); }
  std::int64_t size() override { return inner_->size(); }
  std::int64_t resize(std::int64_t bytes) override { return inner_->resize(bytes); }
  std::int64_t allocate(std::int64_t bytes) override { return inner_->allocate(bytes); }
  std::int64_t sync() override {
    const std::int64_t begin = now();
    const std::int64_t code = inner_->sync();
    sleep_until(begin + pace_.latency);
    return code;
  }
  std::unique_ptr<RangeLock> lock(Extent range, LockKind kind, int& error) override {
    return inner_->lock(range, kind, error);
  }
  const std::string& path() const override { return inner_->path(); }

 private:
  /// Queues the transfer at the modelled server before `inner` carries it out, so that the time of
  /// `inner` is part of the modelled time and not added to it.
  template <class Call>
  std::int64_t request(std::int64_t asked, bool writes, Call&& call) {
    const double variation = pace_.variation(rank_, requests_.fetch_add(1));
    std::int64_t queued = std::min(asked, piece_bytes);
    std::int64_t done = queue(now(), queued, writes, variation);
    const std::int64_t moved = call();
    // A short transfer takes the time of the bytes that it moved. One that fails takes the time of
    // all bytes requested.
    const std::int64_t bytes = moved < 0 ? asked : std::min(moved, asked);
    while (queued < bytes) {
      sleep_until(done);
      const std::int64_t piece = std::min(bytes - queued, piece_bytes);
      // The next piece arrives when the previous one was done, not now: a late wake-up of this
      // thread must not lower the modelled bandwidth.
      done = queue(done, piece, writes, variation);
      queued += piece;
    }
    sleep_until(done + pace_.latency);
    return moved;
  }

  /// The rank's server serves `bytes` at `arrival`, or after everything queued before; returns when
  /// they are done.
  std::int64_t queue(std::int64_t arrival, std::int64_t bytes, bool writes,
                     double variation) noexcept {
    const std::int64_t writing = writes ? clock_->writing.load(std::memory_order_relaxed) : 0;
    const std::int64_t service = pace_.service(bytes, variation, writing);
    auto& server = clock_->next_free[static_cast<std::size_t>(rank_ % pace_.servers)];
    std::int64_t free = server.load(std::memory_order_relaxed);
    std::int64_t done = 0;
    do {
      done = std::max(arrival, free) + service;
    } while (!server.compare_exchange_weak(free, done, std::memory_order_relaxed));
    return done;
  }

  std::unique_ptr<Storage> inner_;
  const Pace pace_;
  std::shared_ptr<PaceClock> clock_;
  const int rank_;
  std::atomic<std::int64_t> requests_{0};
};

}  // namespace

Pace Pace::parse(std::string_view spec) {
  Pace pace;
  std::vector<std::string_view> given;
  while (!spec.empty()) {
    const std::size_t comma = spec.find(',');
    const std::string_view clause = spec.substr(0, comma);
    const std::size_t equals = clause.find('=');
    if (equals == std::string_view::npos || comma + 1 == spec.size())
      refuse_pace("'" + std::string(clause) +
                  "' is not understood; write NAME=VALUE[,...], for example " +
                  "bandwidth=100M,latency=1ms");
    const std::string_view name = clause.substr(0, equals);
    if (std::find(given.begin(), given.end(), name) != given.end())
      refuse_pace(std::string(name) + " is given twice");
    set(pace, name, clause.substr(equals + 1));
    given.push_back(name);
    spec.remove_prefix(comma == std::string_view::npos ? spec.size() : comma + 1);
  }
  if (pace.writers == 0 && std::find(given.begin(), given.end(), "slowdown") != given.end())
    refuse_pace("slowdown needs writers, the number that is borne without it");
  return pace;
}

std::string Pace::text() const {
  std::string text =
      scaled(static_cast<double>(bandwidth), 1024, {"bytes/s", "KiB/s", "MiB/s", "GiB/s"}) +
      (servers > 1 ? " of " + std::to_string(servers) + " servers" : " shared");
  if (latency > 0)
    text +=
        ", " + scaled(static_cast<double>(latency), 1000, {"ns", "us", "ms", "s"}) + " a request";
  if (writers > 0)
    text += ", writes slower by " + short_text(slowdown * 100) + " % for each one beyond " +
            std::to_string(writers) + " at a time";
  if (variance > 0) text += ", varying by " + short_text(variance * 100) + " %";
  if (page_cache) text += ", as a page cache";
  return text;
}

double Pace::variation(int rank, std::int64_t request) const noexcept {
  if (variance == 0) return 1;
  const std::uint64_t stream = mix(mix(seed) + static_cast<std::uint64_t>(rank));
  const std::uint64_t chance = mix(stream + static_cast<std::uint64_t>(request));
  const double from_0_to_1 = static_cast<double>(chance >> 11) * 0x1p-53;
  return 1 + variance * (2 * from_0_to_1 - 1);
}

std::int64_t Pace::service(std::int64_t bytes, double variation,
                           std::int64_t writing) const noexcept {
  const double beyond =
      writers == 0 ? 0 : static_cast<double>(std::max<std::int64_t>(writing - writers, 0));
  const double seconds =
      static_cast<double>(bytes) * static_cast<double>(servers) / static_cast<double>(bandwidth);
  return std::llround(seconds * variation * (1 + slowdown * beyond) * second);
}

std::unique_ptr<Storage> keep_pace(std::unique_ptr<Storage> inner, const Pace& pace,
                                   std::shared_ptr<PaceClock> clock, int rank) {
  return std::make_unique<PacedStorage>(std::move(inner), pace, std::move(clock), rank);
}

}  // namespace penstock
