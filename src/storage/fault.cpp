#include "storage/fault.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include <penstock/error.hpp>

namespace penstock {
namespace {

enum FaultyCall { op_read, op_write, op_size, op_resize, op_sync, op_lock, op_count };
constexpr std::array<std::string_view, op_count> op_names{"read",   "write", "size",
                                                          "resize", "sync",  "lock"};
constexpr int short_transfer = -1, killed = -2;
constexpr std::array<std::pair<std::string_view, int>, 8> fault_names{{{"EIO", EIO},
                                                                       {"ENOSPC", ENOSPC},
                                                                       {"EDQUOT", EDQUOT},
                                                                       {"EINTR", EINTR},
                                                                       {"EAGAIN", EAGAIN},
                                                                       {"ENOLCK", ENOLCK},
                                                                       {"short", short_transfer},
                                                                       {"kill", killed}}};

struct Clause {
  FaultyCall operation;
  std::int64_t first, last;
  int fault;  // an errno, short_transfer or killed
};

struct Spec {
  std::vector<Clause> clauses;
  std::optional<int> rank;
};

[[noreturn]] void refuse_fault(std::string_view clause) {
  throw Error(ErrorClass::argument,
              "fault '" + std::string(clause) +
                  "' is not understood; write OP@N=WHAT[,...][,rank=R] with OP one of read, write, "
                  "size, resize, sync, lock; N the index of a call (0 is the first), N+ for it and "
                  "all later, * for all; WHAT one of EIO, ENOSPC, EDQUOT, EINTR, EAGAIN, ENOLCK, "
                  "kill (the process ends as by kill -9), or short (read and write only); R a "
                  "rank, given once");
}

template <class Number>
Number number(std::string_view text, std::string_view clause) {
  Number value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || value < 0) refuse_fault(clause);
  return value;
}

Clause parse_clause(std::string_view text) {
  const std::size_t at = text.find('@'), equals = text.find('=');
  if (at == std::string_view::npos || equals == std::string_view::npos || equals < at)
    refuse_fault(text);
  const auto op = std::find(op_names.begin(), op_names.end(), text.substr(0, at));
  const std::string_view what = text.substr(equals + 1);
  const auto fault = std::find_if(fault_names.begin(), fault_names.end(),
                                  [&](const auto& entry) { return entry.first == what; });
  if (op == op_names.end() || fault == fault_names.end()) refuse_fault(text);
  Clause clause{static_cast<FaultyCall>(op - op_names.begin()), 0,
                std::numeric_limits<std::int64_t>::max(), fault->second};
  const bool transfers = clause.operation == op_read || clause.operation == op_write;
  if (clause.fault == short_transfer && !transfers) refuse_fault(text);
  std::string_view index = text.substr(at + 1, equals - at - 1);
  if (index == "*") return clause;
  const bool later_too = index.ends_with('+');
  if (later_too) index.remove_suffix(1);
  clause.first = number<std::int64_t>(index, text);
  if (!later_too) clause.last = clause.first;
  return clause;
}

Spec parse(std::string_view text) {
  constexpr std::string_view rank = "rank=";
  Spec spec;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view clause = text.substr(0, comma);
    if (!clause.starts_with(rank)) spec.clauses.push_back(parse_clause(clause));
    else if (spec.rank) refuse_fault(clause);
    else spec.rank = number<int>(clause.substr(rank.size()), clause);
    if (comma == std::string_view::npos) return spec;
    text.remove_prefix(comma + 1);
  }
}

class FaultStorage : public Storage {
 public:
  FaultStorage(std::unique_ptr<Storage> inner, std::vector<Clause> clauses)
      : inner_(std::move(inner)), clauses_(std::move(clauses)) {}

  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override {
    return move(next(operation_of(direction)), direction, memory, offset);
  }
  bool completes_later() const override { return inner_->completes_later(); }
  /// A request with a fault is marked done here and not submitted to `inner`, so `inner` must not
  /// be asked about it. Such requests are in faulty_.
  void submit(std::span<IoRequest> requests) override {
    for (IoRequest& request : requests) {
      const int fault = next(operation_of(request.direction));
      if (fault == 0) {
        inner_->submit({&request, 1});
        continue;
      }
      request.result = move(fault, request.direction, request.memory, request.offset);
      request.done = true;
      const std::lock_guard guard(mutex_);
      faulty_.insert(&request);
    }
  }
  bool poll(IoRequest& request) override { return is_faulty(request) || inner_->poll(request); }
  void wait(IoRequest& request) override {
    if (!is_faulty(request)) inner_->wait(request);
  }
  bool read_ahead(Extent range) override { return inner_->read_ahead(range); }
  bool is_cached(std::int64_t offset) override { return inner_->is_cached(offset); }
  bool bypass_cache(bool past) override { return inner_->bypass_cache(past); }
  void forget_cached() override { inner_->forget_cached(); }
  std::int64_t size() override {
    const int fault = next(op_size);
    return fault > 0 ? -fault : inner_->size();
  }
  std::int64_t allocate(std::int64_t bytes) override {
    const int fault = next(op_resize);
    return fault > 0 ? -fault : inner_->allocate(bytes);
  }
  std::int64_t resize(std::int64_t bytes) override {
    const int fault = next(op_resize);
    return fault > 0 ? -fault : inner_->resize(bytes);
  }
  std::int64_t sync() override {
    const int fault = next(op_sync);
    return fault > 0 ? -fault : inner_->sync();
  }
  std::unique_ptr<RangeLock> lock(Extent range, LockKind kind, int& error) override {
    const int fault = next(op_lock);
    if (fault <= 0) return inner_->lock(range, kind, error);
    error = fault;
    return nullptr;
  }
  const std::string& path() const override { return inner_->path(); }

 private:
  static FaultyCall operation_of(Direction direction) {
    return direction == Direction::read ? op_read : op_write;
  }
  std::int64_t move(int fault, Direction direction, Parts memory, std::int64_t offset) {
    if (fault > 0) return -fault;
    if (fault == 0) return inner_->move_some(direction, memory, offset);
    const std::int64_t size = size_of(memory);
    std::vector<iovec> half;
    append_slice(half, memory, 0, size > 1 ? size / 2 : size, memory.size());
    return inner_->move_some(direction, half, offset);
  }
  /// True once for each request with a fault, which is then removed: callers do not ask again about
  /// a completed request, and its address may be reused.
  bool is_faulty(const IoRequest& request) {
    const std::lock_guard guard(mutex_);
    return faulty_.erase(&request) > 0;
  }
  /// The fault of this call; 0: none.
  int next(FaultyCall operation) {
    const std::int64_t index = calls_[operation]++;
    for (const Clause& c : clauses_)
      if (c.operation == operation && index >= c.first && index <= c.last) {
        if (c.fault == killed) ::raise(SIGKILL);
        return c.fault;
      }
    return 0;
  }

  std::unique_ptr<Storage> inner_;
  std::vector<Clause> clauses_;
  std::array<std::atomic<std::int64_t>, op_count> calls_{};
  std::mutex mutex_;
  std::set<const IoRequest*> faulty_;  // submitted, and not reported yet
};

}  // namespace

void check_faults(std::string_view spec) {
  parse(spec);
}

std::unique_ptr<Storage> inject_faults(std::unique_ptr<Storage> inner, std::string_view spec,
                                       int rank) {
  Spec parsed = parse(spec);
  if (parsed.clauses.empty()) return inner;
  if (parsed.rank && *parsed.rank != rank) return inner;
  return std::make_unique<FaultStorage>(std::move(inner), std::move(parsed.clauses));
}

}  // namespace penstock
