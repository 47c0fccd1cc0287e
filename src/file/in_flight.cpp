#include "file/in_flight.hpp"

#include <mpi.h>

#include <algorithm>
#include <utility>

#include "engine/buffering.hpp"
#include "mpi/agree.hpp"
#include "mpi/thread_use.hpp"
#include "mpi/whereabouts.hpp"

namespace penstock {

std::shared_ptr<InFlight::Begun> InFlight::add(ByteRequest&& request, const Hints& hints,
                                               std::optional<Background> background) {
  auto begun = std::make_shared<Begun>(file_, std::move(request.access), hints, background,
                                       std::move(request.error), request.company);
  if (Team* const team = background ? file_.comm.team() : nullptr; team != nullptr)
    team->own_mailbox().begun.store(begun->call(), std::memory_order_relaxed);
  begun_.push_back(begun);
  return begun;
}

/// One step of each operation, oldest first.
Progress InFlight::resume() {
  Progress progress{false, false, Expect::meeting};
  bool by_message = false, may_leave = true;
  for (const std::shared_ptr<Begun>& begun : begun_) {
    Operation& operation = *begun;
    if (operation.has_ended()) continue;
    if (operation.uses_messages() && WithoutMpi::here()) continue;
    const std::int64_t before = operation.steps();
    operation.advance();
    progress.moved = progress.moved || operation.steps() != before || operation.has_ended();
    if (operation.has_ended()) continue;
    by_message = by_message || by_messages(operation.expects());
    may_leave = may_leave && may_give_up(operation.expects());
  }
  if (may_leave) progress.expect = by_message ? Expect::meeting_by_messages : Expect::meeting;
  else progress.expect = by_message ? Expect::messages : Expect::notification;
  take_ended();
  return progress;
}

/// From the oldest on, up to the first that has not ended.
void InFlight::take_ended() {
  while (!begun_.empty() && begun_.front()->has_ended()) {
    take(*begun_.front());
    begun_.pop_front();
  }
}

/// Once the operation has ended, keeps its error for its handle and passes on its counts.
void InFlight::take(Begun& begun) {
  if (begun.has_ended() && !begun.taken) {
    begun.thrown = begun.error();
    // With other error classes, nothing of the write has been done.
    if (begun.error() && begun.access().writes() &&
        begun.error()->error_class() >= ErrorClass::storage)
      file_.note_damage(*begun.error());
    begun.taken = true;
  }
  const Statistics counts = begun.take_counts();
  begun.counts += counts;
  count_(counts);
}

/// If the wait ends because other ranks do not come, operations in flight can never end, and are
/// abandoned.
template <class Resume>
void InFlight::drive(Resume&& resume) {
  try {
    drive_until(file_.comm.event(), file_.comm.crowded(), resume);
  } catch (...) {
    if (file_.comm.is_broken_off()) abandon();
    throw;
  }
}

template <class Over>
void InFlight::resume_until(Over&& over) {
  drive([&] {
    if (over()) return Progress{true, false, Expect::notification};
    return resume();
  });
}

void InFlight::complete(Task<Demand> task) {
  Running<Demand> running(std::move(task));
  drive([&] {
    const std::int64_t before = running.steps();
    const bool over = running.advance();
    const bool moved = running.steps() != before;
    if (over || begun_.empty() || thread_is_busy()) return Progress{over, moved, running.expects()};
    Progress progress = resume();
    progress.moved = progress.moved || moved;
    if (by_messages(running.expects()) && !by_messages(progress.expect))
      progress.expect =
          may_give_up(progress.expect) ? Expect::meeting_by_messages : Expect::messages;
    return progress;
  });
  static_cast<void>(running.result());
}

std::shared_ptr<InFlight::Begun> InFlight::run(ByteRequest request, const Hints& of_file) {
  thread_->drain();
  const Hints& hints = request.hints ? *request.hints : of_file;
  auto begun = add(std::move(request), hints, std::nullopt);
  resume_until([&] { return begun->has_ended(); });
  take(*begun);
  return begun;
}

std::shared_ptr<InFlight::Begun> InFlight::begin(ByteRequest request, const Hints& of_file,
                                                 Background background) {
  Hints hints = std::move(request.hints).value_or(of_file);
  if (background == Background::none) hints.active_buffer_size = 0;
  thread_->drain();
  if (background == Background::all && !threads_allowed_) require_threads();
  const Placement placement = asked_placement_of(hints);
  auto begun = add(std::move(request), hints, background);
  if (background == Background::all) {
    begin_in_thread(begun, placement);
    return begun;
  }
  resume_until([&] { return begun->has_begun(); });
  take(*begun);
  return begun;
}

std::shared_ptr<InFlight::Begun> InFlight::post(ByteRequest request, const Hints& of_file) {
  thread_->drain();
  const Hints& hints = request.hints ? *request.hints : of_file;
  auto begun = add(std::move(request), hints, Background::storage);
  begun->post();
  resume();
  return begun;
}

void InFlight::begin_in_thread(const std::shared_ptr<Begun>& begun, const Placement& placement) {
  IoUnit unit;
  unit.placement = placement;
  unit.work = [this, begun, call = InCall::current()->call()] {
    const InCall in(file_.comm, file_.storage.path(), call);
    static_cast<void>(attempt([&] { resume_until([&] { return begun->has_begun(); }); }));
  };
  last_ticket_ = thread_->submit(std::move(unit));
}

/// Collective, once per file. Operations in flight are ended first: another rank may be waiting for
/// one to end before it comes to this agreement.
void InFlight::require_threads() {
  end_everything();
  std::optional<Error> error;
  int level = MPI_THREAD_MULTIPLE;
  if (!file_.comm.is_null()) MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) {
    error = Error(ErrorClass::state,
                  "background 'all' needs MPI_THREAD_MULTIPLE, but MPI runs with " +
                      thread_level_name(level) +
                      "; ask for it (MPI_Init_thread; mpi4py.rc.thread_level = 'multiple'), or "
                      "use background 'storage'");
  }
  // The same agreement as on entry of every call, so ranks in different calls get an error.
  const std::vector<Common> nothing;
  const Channel channel = file_.next_channel(InCall::current()->call().kind);
  const Entry entry{nothing, {}, error};
  penstock::drive(file_.comm, enter(file_, channel, entry));
  threads_allowed_ = true;
}

void InFlight::end_first() {
  const std::shared_ptr<Begun> first = begun_.front();
  const InCall in(file_.comm, file_.storage.path(), {CallKind::wait, first->call()});
  const BackgroundIo::Expedite expedite(file_.background);
  resume_until([&] { return first->has_ended(); });
  take_ended();
}

void InFlight::end_everything() {
  thread_->drain();
  while (!begun_.empty()) end_first();
}

void InFlight::end_reads() {
  thread_->drain();
  const auto reads = [](const auto& begun) { return !begun->access().writes(); };
  while (std::any_of(begun_.begin(), begun_.end(), reads)) end_first();
}

void InFlight::end(Begun& begun) {
  thread_->drain();
  begun.ask();
  if (!begun.has_ended()) {
    const Footprint& file = begun.access().file;
    const bool alone = begun.call() == 0 && !file.empty();
    const InCall in(file_.comm, file_.storage.path(), {CallKind::wait, begun.call()},
                    alone ? awaited_for(file.hull()) : nullptr);
    const BackgroundIo::Expedite expedite(file_.background);
    resume_until([&] { return begun.has_ended(); });
  }
  take(begun);
  if (!begun.thrown) return;
  begun.mark_reported();
  throw Error(*std::exchange(begun.thrown, std::nullopt));
}

bool InFlight::is_copied(Begun& begun, bool wait) {
  if (begun.is_copied()) return true;
  if (wait) thread_->drain();
  if (wait && begun.is_aside()) {
    const BackgroundIo::Expedite expedite(file_.background);
    resume_until([&] { return begun.is_copied(); });
  }
  if (!thread_is_busy()) resume();
  return begun.is_copied();
}

bool InFlight::is_ready(Begun& begun) {
  if (begun.has_ended()) return true;
  if (thread_is_busy()) return false;
  resume();
  return begun.is_ready();
}

bool InFlight::has_ended(Begun& begun) {
  if (!begun.has_ended() && !thread_is_busy()) resume();
  return begun.has_ended();
}

void InFlight::abandon() noexcept {
  for (const std::shared_ptr<Begun>& begun : begun_) {
    begun->abandon();
    take(*begun);
  }
  begun_.clear();
}

InCall::Awaited InFlight::awaited_for(Extent range) const {
  return [buffered = file_.io.buffered, range] { return who_has_pending(*buffered, range); };
}

std::int64_t InFlight::oldest() const noexcept {
  return begun_.empty() ? 0 : begun_.front()->call();
}

}  // namespace penstock
