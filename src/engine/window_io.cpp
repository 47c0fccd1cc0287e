#include "engine/window_io.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/failure.hpp"

namespace penstock {
namespace {

/// As many as io_uring can have in flight. An access takes some hundred bytes: the runs of a window
/// are not all listed at once.
constexpr std::size_t most_accesses = 1024;

}  // namespace

[[noreturn]] void throw_transfer_error(const IoCall& call, const char* what, Extent range,
                                       const Transfer& transfer) {
  const std::int64_t stopped = range.begin + transfer.bytes;
  throw Error(std::string(what) + " '" + call.storage.path() + "', " +
                  std::to_string(range.length()) + " bytes at offset " +
                  std::to_string(range.begin) + ", stopped after " +
                  std::to_string(transfer.bytes) + " bytes at offset " + std::to_string(stopped) +
                  ": " + text_of_errno(transfer.error),
              call.storage.path(), stopped, transfer.error);
}

namespace {

[[noreturn]] void throw_truncated(const IoCall& call, Extent range, std::int64_t got) {
  throw Error(ErrorClass::format, "reading '" + call.storage.path() + "': the file ends at byte " +
                                      std::to_string(range.begin + got) + ", but bytes up to " +
                                      std::to_string(range.end) +
                                      " were asked for; it is truncated, or shape, dtype or offset "
                                      "are not those it was written with");
}

[[noreturn]] void throw_failure(const IoCall& call, const Submission& accesses) {
  const std::size_t i = accesses.first_failure();
  const char* const what = accesses.direction(i) == Direction::read ? "reading" : "writing";
  throw_transfer_error(call, what, accesses.range(i), accesses.transfer(i));
}

}  // namespace

void check_accesses(const IoCall& call, const Submission& accesses) {
  if (accesses.first_failure() < accesses.size()) throw_failure(call, accesses);
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const std::int64_t moved = accesses.transfer(i).bytes;
    if (moved < accesses.range(i).length()) throw_truncated(call, accesses.range(i), moved);
  }
}

std::unique_ptr<RangeLock> lock_for_writing(IoCall& call, Locks locks, Extent range,
                                            LockKind kind) {
  if (locks == Locks::never || !call.file.locks_work) return nullptr;
  int error = 0;
  std::unique_ptr<RangeLock> lock = call.storage.lock(range, kind, error);
  if (lock) return lock;
  if (error != ENOLCK && error != EOPNOTSUPP && error != ENOSYS && error != EINVAL)
    throw_transfer_error(call, "locking", range, {0, error});
  call.file.locks_work = false;
  return nullptr;
}

WindowIo::WindowIo(Context& context, const Hints& hints, Direction direction, bool exclusive,
                   StagingMemory memory, Buffer* sieve)
    : call_(context.io),
      pool_(memory == StagingMemory::pool ? &context.pool : nullptr),
      gauge_(memory == StagingMemory::pool ? &context.gauge : nullptr),
      locks_(hints.locks),
      sieve_writes_(hints.sieve_writes),
      sieving_(context.sieving),
      indivisible_(context.units.indivisible > 0),
      sieve_bytes_(sieve_bytes(hints.buffer_size)),
      direction_(direction),
      exclusive_(exclusive),
      memory_(memory),
      record_(context.record.another()),
      sieve_(sieve != nullptr ? *sieve : own_sieve_),
      coverage_(gauge_, pool_),
      accesses_(context.storage) {}

WindowIo::~WindowIo() {
  accesses_.wait();
  if (in_active_buffer()) return;  // may be the I/O thread, which does not own the pool
  pool_->give(BufferPool::Use::window, std::move(staging_));
  pool_->give(BufferPool::Use::sieve, std::move(own_sieve_));
  pool_->give(BufferPool::Use::coverage, coverage_.release());
}

void WindowIo::open(Context& context, Extent window, std::span<const WindowStream> streams,
                    Extent trimmed, bool disjoint, std::byte* address) {
  trimmed_ = intersect(window, trimmed);
  choose_memory(context, address, window);
  covered_ = false;
  accesses_.clear();
  wanted_ = runs_ = 0;
  bool full = false;
  for (const WindowStream& stream : streams) {
    wanted_ += stream.size();
    runs_ += stream.run_count();
    full = full || (stream.run_count() == 1 && stream.size() == trimmed_.length());
  }
  if (full) wanted_ = trimmed_.length();
  else if (!disjoint && runs_ > 1) cover(context, streams);
  else if (direction_ == Direction::write && holes()) cover(context, streams);
  else if (holes() && !moves_whole()) cover(context, streams);
  find_sieved();
  if (direction_ == Direction::write && holes()) prepare_sieve();
  ++context.record.counts.rounds;
}

void WindowIo::choose_memory(Context& context, std::byte* address, Extent window) {
  origin_ = window.begin;
  base_ = address;
  if (address != nullptr) return;
  origin_ = trimmed_.begin;
  const std::int64_t ahead = lead(origin_, trimmed_.length());
  if (in_active_buffer()) {
    take_unit(context, ahead + trimmed_.length());
    base_ = unit_.data() + ahead;
    return;
  }
  if (staging_.size() < ahead + trimmed_.length()) {
    pool_->give(BufferPool::Use::window, std::move(staging_));
    staging_ = pool_->take(BufferPool::Use::window, ahead + trimmed_.length(), gauge_);
  }
  base_ = staging_.data() + ahead;
}

void WindowIo::take_unit(Context& context, std::int64_t bytes) {
  unit_ = ActiveBuffer::Memory();
  unit_ = take_room(context, bytes);
}

/// Done here and not on use: flush() may run beside the thread that owns the pool.
void WindowIo::prepare_sieve() {
  if (sieve_.size() == 0 && !in_active_buffer())
    sieve_ = pool_->take(BufferPool::Use::sieve, sieve_bytes_, gauge_);
}

void WindowIo::cover(Context& context, std::span<const WindowStream> streams) {
  const Timed watch(context.record, Phase::plan);
  coverage_.restart(trimmed_);
  for (const WindowStream& stream : streams)
    stream.for_each(0, stream.size(), [&](const Batch& batch) { coverage_.mark(batch); });
  covered_ = true;
  wanted_ = coverage_.wanted();
  runs_ = coverage_.run_count();
}

/// For a read: without examining the holes.
bool WindowIo::moves_whole() const noexcept {
  if (sieving_.in_parts) return trimmed_.length() - wanted_ < sieving_.request_bytes;
  return sieving_.pays(trimmed_.length(), wanted_, runs_, false);
}

/// Calls visit(Coverage::Cluster) for each part that is moved by itself, or run by run.
template <class Visit>
void WindowIo::for_each_part(Visit&& visit) const {
  const bool writes = direction_ == Direction::write;
  const bool in_parts =
      covered_ && sieving_.in_parts && !(writes && sieve_writes_ == SieveWrites::always);
  if (in_parts) sieving_.for_each_part(coverage_, trimmed_, writes, visit);
  else visit(Coverage::Cluster{trimmed_, wanted_, runs_});
}

/// Whether moving a part with its holes pays, where that is allowed.
bool WindowIo::pays(const Coverage::Cluster& part) const noexcept {
  if (part.wanted >= part.range.length()) return false;
  const bool writes = direction_ == Direction::write;
  if (!writes && !covered_) return true;
  if (writes && indivisible_) return true;  // storage would do it for each run otherwise
  return (writes && sieve_writes_ == SieveWrites::always) || sieving_.pays(part, writes);
}

void WindowIo::find_sieved() {
  sieved_ = false;
  if (holes())
    for_each_part([&](const Coverage::Cluster& part) { sieved_ = sieved_ || pays(part); });
}

void WindowIo::clear() {
  std::memset(at(trimmed_.begin), 0, static_cast<std::size_t>(trimmed_.length()));
}

void WindowIo::begin_fill() {
  const Timed watch(record_, Phase::storage, 0, trimmed_.begin);
  accesses_.clear();
  if (sieved_) ++record_.counts.sieved_windows;
  if (holes()) add_parts(true);
  else add(trimmed_);
  accesses_.start();
}

void WindowIo::begin_flush() {
  const Timed watch(record_, Phase::storage, 0, trimmed_.begin);
  accesses_.clear();
  std::unique_ptr<RangeLock> held =
      lock(needs_exclusive_lock() ? LockKind::exclusive : LockKind::shared);
  // Without a lock, the bytes in holes are not safe from other programs: sieve only if the user
  // asked for it. If ranks of this call write those bytes, nothing else would preserve them.
  const bool wished = locks_ != Locks::automatic || sieve_writes_ == SieveWrites::always;
  const bool sieve = modifies() && (held || (wished && (!exclusive_ || call_.file.ranks == 1)));
  if (sieve) read_holes();
  if (holes()) add_parts(sieve);
  else add(trimmed_);
  lock_ = std::move(held);
  accesses_.start();
}

void WindowIo::finish() {
  const Timed watch(record_, Phase::storage, trimmed_.length(), trimmed_.begin);
  accesses_.wait();
  lock_.reset();
  check_accesses(call_, accesses_);
}

/// Whether a flush reads the bytes in holes and writes them back.
bool WindowIo::modifies() const noexcept {
  return sieved_ && (indivisible_ || sieve_writes_ == SieveWrites::always ||
                     (sieve_writes_ == SieveWrites::automatic && call_.file.locks_work));
}

std::unique_ptr<RangeLock> WindowIo::lock(LockKind kind) {
  return lock_for_writing(call_, locks_, trimmed_, kind);
}

void WindowIo::add(Extent range) {
  accesses_.add(direction_, {at(range.begin), static_cast<std::size_t>(range.length())},
                range.begin);
}

/// Submits what has gathered once it is much.
void WindowIo::add_after_others(Extent range) {
  if (accesses_.size() == most_accesses) {
    accesses_.run();
    check_accesses(call_, accesses_);
    accesses_.clear();
  }
  add(range);
}

/// With `sieve`, parts including their holes; otherwise the runs of each.
void WindowIo::add_parts(bool sieve) {
  for_each_part([&](const Coverage::Cluster& part) {
    if (part.wanted >= part.range.length() || (sieve && pays(part))) add_after_others(part.range);
    else coverage_.for_each_run_in(part.range, [&](Extent run) { add_after_others(run); });
  });
}

/// For parts that are written as a whole: fills the holes in the staging buffer from the file.
/// Beyond the end of the file they are zeros, as POSIX has it for gaps.
void WindowIo::read_holes() {
  ++record_.counts.sieved_windows;
  if (sieve_.size() == 0) sieve_ = Buffer(std::min(sieve_bytes_, trimmed_.length()), nullptr);
  std::vector<Extent> spans;  // being read into the sieve buffer, one after the other
  Extent span{0, 0};          // holes gathered for one read
  int gathered = 0;
  const auto gather = [&](Extent hole) {
    // Holes that are closer than the cost of a request are read together.
    const bool joins = gathered > 0 && hole.begin - span.end < sieving_.request_bytes &&
                       hole.end - span.begin <= sieve_.size();
    if (!joins) {
      read_gathered(span, gathered, spans);
      span.begin = hole.begin;
      gathered = 0;
    }
    span.end = hole.end;
    ++gathered;
  };
  for_each_part([&](const Coverage::Cluster& part) {
    if (pays(part)) coverage_.for_each_hole_in(part.range, gather);
  });
  read_gathered(span, gathered, spans);
  take_from_sieve(spans);
}

void WindowIo::read_gathered(Extent span, int holes, std::vector<Extent>& spans) {
  if (holes == 0) return;
  std::int64_t used = 0;
  for (const Extent other : spans) used += other.length();
  const std::int64_t needed = holes > 1 ? span.length() : 0;
  if (used + needed > sieve_.size() || accesses_.size() == most_accesses) {
    take_from_sieve(spans);
    used = 0;
  }
  std::byte* const address = holes > 1 ? sieve_.data() + used : at(span.begin);
  accesses_.add(Direction::read, {address, static_cast<std::size_t>(span.length())}, span.begin);
  if (holes > 1) spans.push_back(span);
}

/// Waits for these reads, and copies the holes to their places in the window.
void WindowIo::take_from_sieve(std::vector<Extent>& spans) {
  accesses_.run();
  if (accesses_.first_failure() < accesses_.size()) throw_failure(call_, accesses_);
  accesses_.fill_with_zeros();
  accesses_.clear();
  const std::byte* from = sieve_.data();
  for (const Extent span : spans) {
    coverage_.for_each_hole_in(span, [&](Extent hole) {
      std::memcpy(at(hole.begin), from + (hole.begin - span.begin),
                  static_cast<std::size_t>(hole.length()));
    });
    from += span.length();
  }
  spans.clear();
}

}  // namespace penstock
