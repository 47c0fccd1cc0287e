#include "background/buffered_file.hpp"

#include <algorithm>
#include <cstdio>

namespace penstock {

Extent BufferedFile::pending_hull() {
  const auto guard = queue_->lock();
  return record_.pending_hull();
}

std::vector<Extent> BufferedFile::pending() {
  const auto guard = queue_->lock();
  return record_.pending();
}

void BufferedFile::publish(SharedExtent& hull) {
  const auto guard = queue_->lock();
  record_.publish(hull);
}

void BufferedFile::unpublish(SharedExtent& hull) noexcept {
  const auto guard = queue_->lock();
  record_.unpublish(hull);
}

void BufferedFile::watch(const Elsewhere& other) {
  const auto guard = queue_->lock();
  watched_.push_back(other);
}

void BufferedFile::unwatch(const SharedExtent& hull) noexcept {
  const auto guard = queue_->lock();
  std::erase_if(watched_, [&](const Elsewhere& other) { return other.hull == &hull; });
}

bool BufferedFile::is_pending_elsewhere(Extent range) {
  const auto guard = queue_->lock();
  return std::ranges::any_of(watched_, [&](const Elsewhere& other) {
    return !intersect(other.hull->get(), range).empty();
  });
}

std::vector<BufferedFile::Elsewhere> BufferedFile::pending_elsewhere(Extent range) {
  const auto guard = queue_->lock();
  std::vector<Elsewhere> found;
  for (const Elsewhere& other : watched_)
    if (!intersect(other.hull->get(), range).empty()) found.push_back(other);
  return found;
}

void BufferedFile::announce(Extent extent) {
  const auto guard = queue_->lock();
  record_.announce(extent);
}

void BufferedFile::retract(Extent extent) noexcept {
  const auto guard = queue_->lock();
  record_.retract(extent);
}

void BufferedFile::fail(const Error& error, const void* owner, std::int64_t operation) {
  const auto guard = queue_->lock();
  record_.fail(error, owner, operation);
}

std::optional<Error> BufferedFile::lost(const void* owner, std::int64_t operation) {
  const auto guard = queue_->lock();
  return record_.lost(owner, operation);
}

bool BufferedFile::has_failure() {
  const auto guard = queue_->lock();
  return record_.failed();
}

std::optional<Error> BufferedFile::take_failure() {
  if (!has_failure()) return std::nullopt;
  drain();
  const auto guard = queue_->lock();
  return record_.take_failure();  // nothing if another handle has taken it
}

void BufferedFile::mark_synced() {
  const auto guard = queue_->lock();
  record_.mark_synced();
}

void BufferedFile::report() noexcept {
  const std::optional<Error> failure = take_failure();
  const auto guard = queue_->lock();
  if (failure) std::fprintf(stderr, "penstock: %s: LOST DATA: %s\n", who_.c_str(), failure->what());
  else if (record_.has_unsynced())
    std::fprintf(stderr,
                 "penstock: %s: '%s' was never closed; what was buffered for it has been written "
                 "now. Close files: errors of the last writes reach the program there\n",
                 who_.c_str(), path_.c_str());
  record_.mark_synced();
}

}  // namespace penstock
