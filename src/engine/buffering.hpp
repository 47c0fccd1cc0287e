// Writes into the active buffer.
#pragma once

#include <optional>
#include <utility>

#include "base/task.hpp"
#include "engine/context.hpp"
#include "plan/plan.hpp"

namespace penstock {

/// How the background threads are scheduled while they work for a call.
Placement placement_of(const Hints& hints);
/// The same for threads that others wait for: only what the hints ask for. SCHED_BATCH, which
/// `automatic` means above, can delay a thread that wakes on a busy core by milliseconds.
Placement asked_placement_of(const Hints& hints);

/// While one exists, each finished unit of this rank's I/O threads wakes this rank.
class UnitNotifier {
 public:
  explicit UnitNotifier(Context& context)
      : memory_(context.background.memory()),
        id_(memory_.call_after_units([&event = context.comm.event()] { event.notify(); })) {}
  UnitNotifier(const UnitNotifier&) = delete;
  ~UnitNotifier() { memory_.cancel_call(id_); }

 private:
  ActiveBuffer& memory_;
  int id_;
};

/// Suspends the task until `over()`, which depends on the I/O threads.
template <class Over>
class [[nodiscard]] UntilUnits {
 public:
  UntilUnits(Context& context, Over over)
      : context_(context), until_(Expect::notification, std::move(over)) {}
  UntilUnits(const UntilUnits&) = delete;

  bool await_ready() { return until_.await_ready(); }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> here) {
    watch_.emplace(context_.record, Phase::wait);
    // A unit that ends before this wakes nobody, but the driver checks once more.
    event_.emplace(context_);
    until_.await_suspend(here);
  }
  void await_resume() { until_.await_resume(); }

 private:
  Context& context_;
  Until<Over> until_;
  std::optional<Timed> watch_;
  std::optional<UnitNotifier> event_;
};

template <class Over>
UntilUnits<Over> await_units(Context& context, Over over) {
  return UntilUnits<Over>(context, std::move(over));
}

/// Memory for a unit, within the call's budget; suspends until there is enough room.
ActiveBuffer::Memory take_room(Context& context, std::int64_t bytes);

/// In the I/O thread, before a unit: waits until the node's ranks have finished copying, for at
/// most 20 ms. Does not wait if a caller waits for the unit.
void let_copy(const IoFile& file);

/// In the I/O thread, after a unit: records how long its storage accesses took, if they went to the
/// page cache. `writers`: ranks that have units of the call.
void note_unit(const IoFile& file, std::int64_t bytes, double seconds, std::int64_t writers);

/// Collective, before a call whose storage accesses are units of the I/O threads. If a unit of
/// another rank could overtake buffered bytes of earlier writes, those are written first, no rank
/// continues before that, and all ranks throw its errors.
Task<> keep_order(Context& context, const Access& access, const Plan& plan, const Demand& all);

/// Collective, before the calling threads access the file. Writes what is buffered: for a read what
/// touches its bytes, for a write everything. All ranks throw the errors of that.
Task<> await_written(Context& context, const Access& access, const Demand& all);

/// A request that an I/O thread moves by an independent method, from or into user memory. The
/// calling thread creates it; the I/O thread owns it from its submission until its unit has ended.
class AsideMove {
 public:
  /// `access` and `hints` must stay valid and unchanged until the unit has ended.
  AsideMove(const Context& outer, const Access& access, Method method, const Hints& hints);
  /// Once. Throws on failure.
  void carry_out();
  /// The same, but a read's error is kept, since nothing else reports it.
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

/// The direct method through the active buffer: each rank's runs, packed into units.
void buffer_directly(Context& context, const Access& access, const Hints& hints);

}  // namespace penstock
