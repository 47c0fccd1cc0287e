#include "plan/route.hpp"

namespace penstock {

std::int64_t choose_budget(const Asked& asked, const Demand& all, const Machine& machine) noexcept {
  if (all.room == Demand::no_buffer) return 0;
  if (all.slow || !asked.writes()) return asked.budget();
  const bool blocking = !asked.background;
  return blocking && all.room >= all.bytes / machine.ranks ? asked.budget() : 0;
}

Route choose_route(const Asked& asked, const Demand& all, const Plan& plan) noexcept {
  if (asked.leaves_storage()) {
    // A thread gains nothing from copying on a core that the program needs.
    const bool gains = all.slow || (!plan.collective() && plan.machine.idle_cores);
    if (!gains) return Route::reported_at_end;
    if (!plan.collective()) return Route::aside;
    if (!asked.writes()) return Route::ahead;
  }
  if (plan.buffered) return Route::buffered;
  // Already in a thread of the file, but errors are reported later.
  if (asked.background == Background::all && asked.writes()) return Route::reported_at_end;
  return Route::now;
}

}  // namespace penstock
