#include "engine/window_io.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace penstock {
namespace {

std::string errno_text(int number) {
  std::string text = std::strerror(number);
  text += " (errno " + std::to_string(number) + ")";
  if (number == ENOSPC) text += "; free some space and write again";
  if (number == EDQUOT) text += "; the disk quota is used up";
  if (number == EFBIG) text += "; the file system or a limit (ulimit -f) forbids files this large";
  return text;
}

/// Holes nearer than this are read together: one more system call costs as much.
constexpr std::int64_t join_distance = 64 * 1024;

}  // namespace

[[noreturn]] void throw_transfer_error(const Context& context, const char* what, Extent range,
                                       const Transfer& transfer) {
  const std::int64_t stopped = range.begin + transfer.bytes;
  throw Error(std::string(what) + " '" + context.storage.path() + "', " +
                  std::to_string(range.length()) + " bytes at offset " +
                  std::to_string(range.begin) + ", stopped after " +
                  std::to_string(transfer.bytes) + " bytes at offset " + std::to_string(stopped) +
                  ": " + errno_text(transfer.error),
              context.storage.path(), stopped, transfer.error);
}

[[noreturn]] void throw_truncated(const Context& context, Extent range, std::int64_t got) {
  throw Error(ErrorClass::format, "reading '" + context.storage.path() +
                                      "': the file ends at byte " +
                                      std::to_string(range.begin + got) + ", but bytes up to " +
                                      std::to_string(range.end) +
                                      " were asked for; it is truncated, or shape, dtype or offset "
                                      "are not those it was written with");
}

std::unique_ptr<RangeLock> lock_for_writing(Context& context, Locks locks, Extent range,
                                            LockKind kind) {
  if (locks == Locks::never || !context.file.locks_work) return nullptr;
  int error = 0;
  std::unique_ptr<RangeLock> lock = context.storage.lock(range, kind, error);
  if (lock) return lock;
  if (error != ENOLCK && error != EOPNOTSUPP && error != ENOSYS && error != EINVAL)
    throw_transfer_error(context, "locking", range, {0, error});
  context.file.locks_work = false;
  return nullptr;
}

WindowIo::WindowIo(Context& context, const Hints& hints, Direction direction, bool exclusive,
                   StagingMemory memory, Buffer* sieve)
    : context_(context),
      locks_(hints.locks),
      sieve_writes_(hints.sieve_writes),
      sieve_bytes_(sieve_bytes(hints.buffer_size)),
      direction_(direction),
      exclusive_(exclusive),
      memory_(memory),
      sieve_(sieve != nullptr ? *sieve : own_sieve_),
      coverage_(memory == StagingMemory::pool ? &context.gauge : nullptr,
                memory == StagingMemory::pool ? &context.pool : nullptr) {}

WindowIo::~WindowIo() {
  if (in_active_buffer()) return;  // maybe in the I/O thread, which does not own the pool
  context_.pool.give(BufferPool::Use::window, std::move(staging_));
  context_.pool.give(BufferPool::Use::sieve, std::move(own_sieve_));
  context_.pool.give(BufferPool::Use::coverage, coverage_.release());
}

void WindowIo::open(Extent window, std::span<const WindowStream> streams, Extent trimmed,
                    bool disjoint, std::byte* place) {
  trimmed_ = intersect(window, trimmed);
  settle(place, window);
  covered_ = false;
  wanted_ = runs_ = 0;
  bool full = false;
  for (const WindowStream& stream : streams) {
    wanted_ += stream.size();
    runs_ += stream.run_count();
    full = full || (stream.run_count() == 1 && stream.size() == trimmed_.length());
  }
  if (full) wanted_ = trimmed_.length();
  else if (!disjoint && runs_ > 1) cover(streams);
  else if (direction_ == Direction::write && holes()) cover(streams);
  else if (holes() && !sieving_pays(trimmed_.length(), wanted_, runs_, false)) cover(streams);
  if (direction_ == Direction::write && holes()) prepare_sieve();
  ++context_.counts.rounds;
}

void WindowIo::settle(std::byte* place, Extent window) {
  origin_ = window.begin;
  base_ = place;
  if (place != nullptr) return;
  origin_ = trimmed_.begin;
  const std::int64_t ahead = lead(origin_, trimmed_.length());
  if (in_active_buffer()) {
    take_unit(ahead + trimmed_.length());
    base_ = unit_.data() + ahead;
    return;
  }
  if (staging_.size() < ahead + trimmed_.length()) {
    context_.pool.give(BufferPool::Use::window, std::move(staging_));
    staging_ =
        context_.pool.take(BufferPool::Use::window, ahead + trimmed_.length(), &context_.gauge);
  }
  base_ = staging_.data() + ahead;
}

void WindowIo::take_unit(std::int64_t bytes) {
  unit_ = ActiveBuffer::Memory();
  unit_ = take_room(context_, bytes);
}

/// Here and not where it is used: flush() may run beside the thread that owns the pool.
void WindowIo::prepare_sieve() {
  if (sieve_.size() == 0 && !in_active_buffer())
    sieve_ = context_.pool.take(BufferPool::Use::sieve, sieve_bytes_, &context_.gauge);
}

void WindowIo::cover(std::span<const WindowStream> streams) {
  const Stopwatch watch(context_.counts.time_plan);
  coverage_.restart(trimmed_);
  for (const WindowStream& stream : streams)
    stream.for_each(0, stream.size(), [&](const Batch& batch) { coverage_.mark(batch); });
  covered_ = true;
  wanted_ = coverage_.wanted();
  runs_ = coverage_.run_count();
}

void WindowIo::clear() {
  std::memset(at(trimmed_.begin), 0, static_cast<std::size_t>(trimmed_.length()));
}

void WindowIo::fill() {
  const Stopwatch watch(counts().time_storage);
  move_in();
}

void WindowIo::flush() {
  const Stopwatch watch(counts().time_storage);
  move_out();
}

void WindowIo::move_in() {
  if (!holes() || !covered_ || sieving_pays(trimmed_.length(), wanted_, runs_, false)) {
    if (holes()) ++counts().sieved_windows;
    return read_exactly(trimmed_);
  }
  coverage_.for_each_run([&](Extent run) { read_exactly(run); });
}

void WindowIo::move_out() {
  if (!holes()) {
    const auto held = lock(exclusive_ ? LockKind::exclusive : LockKind::shared);
    return write(trimmed_);
  }
  const bool sieve = sieve_writes_ == SieveWrites::always ||
                     (sieve_writes_ == SieveWrites::automatic && context_.file.locks_work &&
                      sieving_pays(trimmed_.length(), wanted_, runs_, true));
  if (sieve) read_modify_write();
  else write_runs();
}

std::unique_ptr<RangeLock> WindowIo::lock(LockKind kind) {
  return lock_for_writing(context_, locks_, trimmed_, kind);
}

void WindowIo::write_runs() {
  const auto held = lock(exclusive_ ? LockKind::exclusive : LockKind::shared);
  coverage_.for_each_run([&](Extent run) { write(run); });
}

void WindowIo::read_modify_write() {
  const auto held = lock(LockKind::exclusive);
  // Without a lock the bytes in holes are not safe from others: only an explicit wish sieves on.
  if (!held && locks_ == Locks::automatic && sieve_writes_ != SieveWrites::always)
    return write_runs();
  ++counts().sieved_windows;
  if (sieve_.size() == 0) sieve_ = Buffer(sieve_bytes_, nullptr);
  read_holes();
  write(trimmed_);
}

/// Brings the bytes in the holes into the staging buffer, between the new ones.
void WindowIo::read_holes() {
  Extent span{0, 0};  // holes gathered for one read
  int gathered = 0;
  const auto read_gathered = [&] {
    if (gathered == 1) read_some_zero_filled(at(span.begin), span);
    if (gathered > 1) read_span(span);
    gathered = 0;
  };
  coverage_.for_each_hole([&](Extent hole) {
    if (gathered > 0 && hole.begin - span.end < join_distance &&
        hole.end - span.begin <= sieve_.size()) {
      span.end = hole.end;
      ++gathered;
      return;
    }
    read_gathered();
    span = hole;
    gathered = 1;
  });
  read_gathered();
}

void WindowIo::read_span(Extent span) {
  read_some_zero_filled(sieve_.data(), span);
  coverage_.for_each_hole_in(span, [&](Extent hole) {
    std::memcpy(at(hole.begin), sieve_.data() + (hole.begin - span.begin),
                static_cast<std::size_t>(hole.length()));
  });
}

/// Beyond the end of the file there are zeros, as POSIX has it for gaps.
void WindowIo::read_some_zero_filled(std::byte* into, Extent range) {
  const std::span<std::byte> bytes(into, static_cast<std::size_t>(range.length()));
  const Transfer got = read_fully(context_.storage, bytes, range.begin);
  if (got.error != 0) throw_transfer_error(context_, "reading", range, got);
  std::fill(bytes.begin() + got.bytes, bytes.end(), std::byte{0});
}

void WindowIo::read_exactly(Extent range) {
  const Transfer got = read_fully(
      context_.storage, {at(range.begin), static_cast<std::size_t>(range.length())}, range.begin);
  if (got.error != 0) throw_transfer_error(context_, "reading", range, got);
  if (got.bytes < range.length()) throw_truncated(context_, range, got.bytes);
}

void WindowIo::write(Extent range) {
  const Transfer done = write_fully(
      context_.storage, {at(range.begin), static_cast<std::size_t>(range.length())}, range.begin);
  if (done.error != 0) throw_transfer_error(context_, "writing", range, done);
}

}  // namespace penstock
