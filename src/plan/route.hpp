// Route: which part of a request is done by begin, by its end, and by I/O threads. Decided from
// values that are the same on all ranks. Pure.
#pragma once

#include <optional>

#include <penstock/handle.hpp>

#include "base/direction.hpp"
#include "plan/plan.hpp"

namespace penstock {

enum class Route {
  now,              // begin moves the bytes, and the ranks agree on the result
  reported_at_end,  // begin moves them; errors are reported by the end, or by the next call
  buffered,         // a write: begin copies into active buffers, whose I/O threads write
  aside,            // each rank's part is a unit of its I/O thread, from or into user memory
  ahead,            // a read: I/O threads read ahead, the end does the exchange
};

/// Storage accesses queue up behind those of earlier calls.
constexpr bool uses_io_thread(Route route) noexcept {
  return route == Route::buffered || route == Route::aside || route == Route::ahead;
}

/// What the call asks for.
struct Asked {
  Direction direction = Direction::read;
  std::optional<Background> background;  // nullopt: a blocking call
  std::int64_t active_buffer_size = 0;   // bytes that may be buffered on each rank

  bool writes() const noexcept { return direction == Direction::write; }
  /// Storage accesses are to be left to the I/O thread, if that gains anything.
  bool leaves_storage() const noexcept {
    return background == Background::storage && active_buffer_size > 0;
  }
  /// Bytes of the active buffer that the call may use, as far as known before the agreement.
  std::int64_t budget() const noexcept {
    return writes() || leaves_storage() ? active_buffer_size : 0;
  }
};

/// The same after the agreement. If the page cache is as fast as a buffer, buffering adds a copy.
/// Then it pays only for a blocking write that fits as a whole, which returns sooner.
std::int64_t choose_budget(const Asked& asked, const Demand& all, const Machine& machine) noexcept;

/// `plan`: made with that budget.
Route choose_route(const Asked& asked, const Demand& all, const Plan& plan) noexcept;

}  // namespace penstock
