#include "storage/count.hpp"

#include <algorithm>

namespace penstock {
namespace {

constexpr Phase access_phase(Direction direction) noexcept {
  return direction == Direction::read ? Phase::file_read : Phase::file_write;
}

}  // namespace

void StorageCounts::move_to(Statistics& sum) noexcept {
  sum.reads += reads.take();
  sum.writes += writes.take();
  sum.other_calls += other_calls.take();
  sum.bytes_read += bytes_read.take();
  sum.bytes_written += bytes_written.take();
}

void StorageCounts::add_to(Statistics& sum) const noexcept {
  StorageCounts(*this).move_to(sum);
}

std::int64_t CountedStorage::move_some(Direction direction, Parts memory, std::int64_t offset) {
  const Showing showing(shown_, offset);
  if (listener_ == nullptr) return noted(direction, inner_.move_some(direction, memory, offset));
  Accesses* const accesses = Accesses::current();
  if (accesses == nullptr) return move_alone(direction, memory, offset);
  accesses->begin();
  const std::int64_t moved = inner_.move_some(direction, memory, offset);
  accesses->end(access_phase(direction), std::max<std::int64_t>(moved, 0), offset);
  return noted(direction, moved);
}

/// Reads the clock itself.
std::int64_t CountedStorage::move_alone(Direction direction, Parts memory, std::int64_t offset) {
  Watched watched(listener_, access_phase(direction), operation_);
  const std::int64_t moved = inner_.move_some(direction, memory, offset);
  watched.moves(std::max<std::int64_t>(moved, 0), offset);
  return noted(direction, moved);
}

void CountedStorage::submit(std::span<IoRequest> requests) {
  if (listener_ != nullptr) {
    const auto now = Span::Clock::now();
    for (IoRequest& request : requests) request.begun = now;
  }
  if (shown_ != nullptr)
    for (const IoRequest& request : requests) shown_->begin(request.offset);
  inner_.submit(requests);
}

bool CountedStorage::poll(IoRequest& request) {
  if (!inner_.poll(request)) return false;
  note(request);
  return true;
}

void CountedStorage::wait(IoRequest& request) {
  inner_.wait(request);
  note(request);
}

/// A request that was in flight until somebody asked for its end.
void CountedStorage::note(const IoRequest& request) {
  if (shown_ != nullptr) shown_->end();
  noted(request.direction, request.result);
  if (listener_ != nullptr)
    listener_->take({operation_, access_phase(request.direction),
                     std::max<std::int64_t>(request.result, 0), request.offset, request.begun,
                     Span::Clock::now()});
}

/// Counts as one access, however much of the range it takes.
bool CountedStorage::read_mapped(Extent range, std::int64_t wanted, const MappedCopy& copy) {
  Watched watched(listener_, Phase::file_read, operation_);
  watched.moves(wanted, range.begin);
  const bool had = inner_.read_mapped(range, wanted, copy);
  if (had) noted(Direction::read, wanted);
  else watched.drop();
  return had;
}

std::int64_t CountedStorage::drop(Extent range) {
  ++counts().other_calls;
  return inner_.drop(range);
}

std::int64_t CountedStorage::size() {
  ++counts().other_calls;
  return inner_.size();
}

std::int64_t CountedStorage::resize(std::int64_t bytes) {
  ++counts().other_calls;
  return inner_.resize(bytes);
}

std::int64_t CountedStorage::allocate(std::int64_t bytes) {
  ++counts().other_calls;
  return inner_.allocate(bytes);
}

std::int64_t CountedStorage::sync() {
  ++counts().other_calls;
  const Showing showing(shown_, -1);
  const Watched watched(listener_, Phase::file_sync, operation_);
  return inner_.sync();
}

std::unique_ptr<RangeLock> CountedStorage::lock(Extent range, LockKind kind, int& error) {
  const Showing showing(shown_, range.begin);
  ++counts().other_calls;
  const auto begin = listener_ == nullptr ? Span::Clock::time_point() : Span::Clock::now();
  auto held = inner_.lock(range, kind, error);
  note_lock(range, begin);
  if (held) ++counts().other_calls;  // for releasing it
  return held;
}

/// A lock that was free takes a few microseconds, and has no record.
void CountedStorage::note_lock(Extent range, Span::Clock::time_point begin) {
  constexpr std::chrono::microseconds free_lock{100};
  if (listener_ == nullptr) return;
  const auto end = Span::Clock::now();
  if (end - begin >= free_lock)
    listener_->take({operation_, Phase::wait, range.length(), range.begin, begin, end});
}

/// Counts one access and its result.
std::int64_t CountedStorage::noted(Direction direction, std::int64_t moved) {
  const bool reads = direction == Direction::read;
  ++(reads ? counts().reads : counts().writes);
  if (moved > 0) (reads ? counts().bytes_read : counts().bytes_written) += moved;
  return moved;
}

}  // namespace penstock
