// Writes into the active buffer.
#pragma once

#include "engine/context.hpp"
#include "plan/plan.hpp"

namespace penstock {

/// How the threads of the background run while they work for a call.
Placement placement_of(const Hints& hints);
/// The same for threads that others wait for: only what was asked for. SCHED_BATCH, which
/// `automatic` means above, lets a thread that wakes up on a busy core wait for milliseconds.
Placement asked_placement_of(const Hints& hints);

/// While one exists, this rank's bell rings after each unit of its I/O threads.
class UnitBell {
 public:
  explicit UnitBell(Context& context)
      : memory_(context.background.memory()),
        id_(memory_.call_after_units([&bell = context.comm.bell()] { bell.ring(); })) {}
  UnitBell(const UnitBell&) = delete;
  ~UnitBell() { memory_.cancel_call(id_); }

 private:
  ActiveBuffer& memory_;
  int id_;
};

/// Ends once `over()`, which depends on the I/O threads.
template <class Over>
Task<> await_units(Context& context, Over over) {
  if (over()) co_return;
  const Timed watch(context.record, Phase::wait);
  const UnitBell bell(context);
  co_await until(Expect::ring, over);
}

/// Memory for a unit, within the call's budget; waits for as much room as it needs.
ActiveBuffer::Memory take_room(Context& context, std::int64_t bytes);

/// In the I/O thread, before a unit: waits until the node's ranks have finished copying, for 20 ms
/// at most, and not at all where a caller waits for the unit.
void let_copy(Context& context);

/// In the I/O thread, after a unit: what its storage accesses took, where that is the page cache.
/// `writers`: ranks that have units of the call.
void note_unit(Context& context, std::int64_t bytes, double seconds, std::int64_t writers);

/// Collective, before a call whose storage accesses are units of the I/O threads begins. What is
/// buffered of earlier writes is written first where a unit of another rank could overtake it; then
/// nobody goes on before, and all throw what went wrong with that.
Task<> keep_order(Context& context, const Access& access, const Plan& plan, const Demand& all);

/// Collective, before the calling threads read or write the file. What is buffered around the bytes
/// of a read, or anywhere before a write, is written first. Throws on every rank what went wrong
/// with that.
Task<> await_written(Context& context, const Access& access, const Demand& all);

/// Moves a request by an independent method in the I/O thread, from or into user memory.
void move_aside(Context& outer, const Access& access, Method method, const Hints& hints);

/// The direct method by way of the active buffer: each rank's runs, packed into units.
void buffer_directly(Context& context, const Access& access, const Hints& hints);

}  // namespace penstock
