// Writes into the active buffer.
#pragma once

#include <optional>
#include <utility>

#include "base/task.hpp"
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

/// Suspends the task until `over()`, which depends on the I/O threads.
template <class Over>
class [[nodiscard]] UntilUnits {
 public:
  UntilUnits(Context& context, Over over)
      : context_(context), until_(Expect::ring, std::move(over)) {}
  UntilUnits(const UntilUnits&) = delete;

  bool await_ready() { return until_.await_ready(); }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> here) {
    watch_.emplace(context_.record, Phase::wait);
    bell_.emplace(context_);  // what ends before this rings nobody: the driver looks once more
    until_.await_suspend(here);
  }
  void await_resume() { until_.await_resume(); }

 private:
  Context& context_;
  Until<Over> until_;
  std::optional<Timed> watch_;
  std::optional<UnitBell> bell_;
};

template <class Over>
UntilUnits<Over> await_units(Context& context, Over over) {
  return UntilUnits<Over>(context, std::move(over));
}

/// Memory for a unit, within the call's budget; waits for as much room as it needs.
ActiveBuffer::Memory take_room(Context& context, std::int64_t bytes);

/// In the I/O thread, before a unit: waits until the node's ranks have finished copying, for 20 ms
/// at most, and not at all where a caller waits for the unit.
void let_copy(const IoFile& file);

/// In the I/O thread, after a unit: what its storage accesses took, where that is the page cache.
/// `writers`: ranks that have units of the call.
void note_unit(const IoFile& file, std::int64_t bytes, double seconds, std::int64_t writers);

/// Collective, before a call whose storage accesses are units of the I/O threads begins. What is
/// buffered of earlier writes is written first where a unit of another rank could overtake it; then
/// nobody continues before, and all throw what went wrong with that.
Task<> keep_order(Context& context, const Access& access, const Plan& plan, const Demand& all);

/// Collective, before the calling threads read or write the file. What is buffered around the bytes
/// of a read, or anywhere before a write, is written first. Throws on every rank what went wrong
/// with that.
Task<> await_written(Context& context, const Access& access, const Demand& all);

/// A request that an I/O thread moves by an independent method, from or into user memory. The
/// calling thread makes it; from its submission until its unit has ended it is the I/O thread's.
class AsideMove {
 public:
  /// `access` and `hints` must stay, and stay as they are, until its unit has ended.
  AsideMove(const Context& outer, const Access& access, Method method, const Hints& hints);
  /// Once. Throws what went wrong.
  void carry_out();
  /// The same; keeps what went wrong with a read, which nothing else reports.
  void carry_out_and_keep();
  const std::optional<Error>& error() const noexcept { return error_; }

 private:
  Buffers buffers_;
  Context context_;
  const Access& access_;
  const Method method_;
  const Hints& hints_;
  std::optional<Error> error_;
};

/// The direct method by way of the active buffer: each rank's runs, packed into units.
void buffer_directly(Context& context, const Access& access, const Hints& hints);

}  // namespace penstock
