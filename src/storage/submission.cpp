#include "storage/submission.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace penstock {

void Submission::add(Direction direction, std::span<const std::byte> memory, std::int64_t offset) {
  if (memory.empty()) return;
  const iovec part = part_of(memory);
  const std::int64_t end = offset + static_cast<std::int64_t>(memory.size());
  if (!accesses_.empty() && accesses_.back().range.end == offset &&
      requests_.back().direction == direction) {
    accesses_.back().range.end = end;
    iovec& last = parts_.back();
    if (begin_of(last) + last.iov_len == memory.data()) {
      last.iov_len += memory.size();
      return;
    }
  } else {
    accesses_.push_back({{offset, end}, parts_.size(), parts_.size(), {}});
    requests_.push_back({.direction = direction});
  }
  parts_.push_back(part);
  ++accesses_.back().end;
}

void Submission::clear() {
  parts_.clear();
  accesses_.clear();
  requests_.clear();
}

void Submission::start() {
  if (!storage_.completes_later()) return carry_out();
  for (std::size_t i = 0; i < accesses_.size(); ++i) prepare(i);
  completed_ = 0;
  under_way_ = true;
  storage_.submit(requests_);
}

/// A single access has nothing to run concurrently with: it is carried out as a blocking call.
void Submission::run() {
  if (accesses_.size() == 1) return carry_out();
  start();
  wait();
}

void Submission::carry_out() {
  for (std::size_t i = 0; i < accesses_.size(); ++i) {
    IoRequest& request = requests_[i];
    do {
      prepare(i);
      request.result = storage_.move_some(request.direction, request.memory, request.offset);
    } while (!advance(i));
    if (accesses_[i].transfer.error != 0) return;
  }
}

bool Submission::complete(bool wait) {
  if (!under_way_) return true;
  for (; completed_ < accesses_.size(); ++completed_) {
    IoRequest& request = requests_[completed_];
    do {
      if (wait) storage_.wait(request);
      else if (!storage_.poll(request)) return false;
      if (advance(completed_)) break;
      prepare(completed_);
      storage_.submit({&request, 1});
    } while (true);
  }
  under_way_ = false;
  return true;
}

void Submission::prepare(std::size_t i) {
  const Submitted& access = accesses_[i];
  requests_[i].offset = access.range.begin + access.transfer.bytes;
  requests_[i].memory = left(access);
  requests_[i].done = false;
}

/// Handles a result from storage. False: something is left to do. A read of 0 bytes is the end of
/// the file; a write of 0 bytes counts as EIO, to avoid an endless loop.
bool Submission::advance(std::size_t i) {
  Submitted& access = accesses_[i];
  const std::int64_t moved = requests_[i].result;
  if (moved == -EINTR) return false;  // a signal, not a failure
  if (moved <= 0) {
    const int nothing = requests_[i].direction == Direction::write ? EIO : 0;
    access.transfer.error = moved < 0 ? static_cast<int>(-moved) : nothing;
    return true;
  }
  access.transfer.bytes += moved;
  access.begin = access.end - without_first(left(access), moved).size();
  return access.transfer.bytes == access.range.length();
}

std::size_t Submission::first_failure() const noexcept {
  const auto failed = std::ranges::find_if(
      accesses_, [](const Submitted& access) { return access.transfer.error != 0; });
  return static_cast<std::size_t>(failed - accesses_.begin());
}

void Submission::fill_with_zeros() {
  for (const Submitted& access : accesses_)
    for (const iovec& part : left(access)) std::memset(part.iov_base, 0, part.iov_len);
}

}  // namespace penstock
