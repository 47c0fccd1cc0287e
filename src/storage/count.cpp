#include "storage/count.hpp"

namespace penstock {

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
  return noted(direction, inner_.move_some(direction, memory, offset));
}

bool CountedStorage::poll(IoRequest& request) {
  if (!inner_.poll(request)) return false;
  noted(request.direction, request.result);
  return true;
}

void CountedStorage::wait(IoRequest& request) {
  inner_.wait(request);
  noted(request.direction, request.result);
}

/// One access, whatever it takes of the range.
bool CountedStorage::read_mapped(Extent range, std::int64_t wanted, const MappedCopy& copy) {
  const bool had = inner_.read_mapped(range, wanted, copy);
  if (had) noted(Direction::read, wanted);
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
  return inner_.sync();
}

std::unique_ptr<RangeLock> CountedStorage::lock(Extent range, LockKind kind, int& error) {
  ++counts().other_calls;
  auto held = inner_.lock(range, kind, error);
  if (held) ++counts().other_calls;  // for giving it back
  return held;
}

/// Enters one access with its result.
std::int64_t CountedStorage::noted(Direction direction, std::int64_t moved) {
  const bool reads = direction == Direction::read;
  ++(reads ? counts().reads : counts().writes);
  if (moved > 0) (reads ? counts().bytes_read : counts().bytes_written) += moved;
  return moved;
}

}  // namespace penstock
