#include "background/unit_record.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>

namespace penstock {
namespace {

std::string mebibytes(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

constexpr const char* write_again = ". Write again what was written since the last sync";

std::string in_the_background(std::int64_t operation) {
  return "; this was in the background, for write " + std::to_string(operation) + " of the file";
}

Error with_text(const Error& error, const std::string& text) {
  if (error.error_class() != ErrorClass::storage) return {error.error_class(), text};
  return {text, error.path(), error.offset(), error.error_number()};
}

}  // namespace

void UnitRecord::queued(IoTicket ticket, const IoUnit& unit) {
  if (!unit.writes()) {
    last_read_ = ticket;
    return;
  }
  last_write_ = ticket;
  pending_.push_back({ticket, unit.extent});
  for (SharedExtent* const hull : published_) hull->include(unit.extent);
  unsynced_ = true;
}

void UnitRecord::ended(const IoUnit& unit, bool dropped, std::optional<Error> error) {
  if (unit.writes()) pending_.pop_front();
  withdraw_if_over();
  if (dropped) {
    ++dropped_;
    dropped_bytes_ += unit.extent.length();
  } else if (error && !failure_) {
    failure_ = std::move(error);
    failed_operation_ = unit.operation;
  }
  if (failure_ && unit.writes())
    lost_.insert({{unit.owner, unit.operation}, {*failure_, failed_operation_}});
}

bool UnitRecord::is_over(Which which, IoTicket finished) const noexcept {
  return (which == Which::reads || finished >= last_write_) &&
         (which == Which::writes || finished >= last_read_);
}

std::vector<Extent> UnitRecord::pending() const {
  std::vector<Extent> extents;
  for (const Write& write : pending_) extents.push_back(write.extent);
  return extents;
}

Extent UnitRecord::pending_hull() const noexcept {
  Extent hull{std::numeric_limits<std::int64_t>::max(), -1};
  for (const Write& write : pending_)
    hull = {std::min(hull.begin, write.extent.begin), std::max(hull.end, write.extent.end)};
  return hull;
}

void UnitRecord::fail(const Error& error, const void* owner, std::int64_t operation) {
  lost_.insert({{owner, operation}, {error, operation}});
  if (failure_) return;
  failure_ = error;
  failed_operation_ = operation;
}

std::optional<Error> UnitRecord::lost(const void* owner, std::int64_t operation) const {
  const auto found = lost_.find({owner, operation});
  if (found == lost_.end()) return std::nullopt;
  const auto& [failure, failed] = found->second;
  std::string text = failure.what() + in_the_background(failed);
  if (failed != operation)
    text += "; write " + std::to_string(operation) +
            ", which came after it, was dropped, so that nothing is in the file out of order";
  return with_text(failure, text + write_again);
}

std::optional<Error> UnitRecord::take_failure() {
  if (!failure_) return std::nullopt;
  const Error failure = *std::exchange(failure_, std::nullopt);
  std::string text = failure.what() + in_the_background(failed_operation_);
  if (dropped_ > 0)
    text += "; " + std::to_string(dropped_) + " buffered units after it (" +
            mebibytes(dropped_bytes_) +
            ") were dropped, so that nothing is in the file out of order";
  dropped_ = dropped_bytes_ = 0;
  return with_text(failure, text + write_again);
}

void UnitRecord::publish(SharedExtent& hull) {
  hull.clear();
  for (const Write& write : pending_) hull.include(write.extent);
  for (const Extent extent : announced_) hull.include(extent);
  published_.push_back(&hull);
}

void UnitRecord::unpublish(SharedExtent& hull) noexcept {
  std::erase(published_, &hull);
}

void UnitRecord::announce(Extent extent) {
  announced_.push_back(extent);
  for (SharedExtent* const hull : published_) hull->include(extent);
}

void UnitRecord::retract(Extent extent) noexcept {
  const auto found = std::ranges::find(announced_, extent);
  if (found != announced_.end()) announced_.erase(found);
  withdraw_if_over();
}

void UnitRecord::withdraw_if_over() noexcept {
  if (!pending_.empty() || !announced_.empty()) return;
  for (SharedExtent* const hull : published_) hull->clear();
}

void UnitRecord::forget() {
  published_.clear();  // shared with the parent
  announced_.clear();
  pending_.clear();
  lost_.clear();
  failure_.reset();
  dropped_ = dropped_bytes_ = 0;
  unsynced_ = false;
}

}  // namespace penstock
