#include "file/in_flight.hpp"

#include <mpi.h>

#include <algorithm>
#include <utility>

#include "engine/buffering.hpp"
#include "mpi/agree.hpp"

namespace penstock {

std::shared_ptr<Operation> InFlight::run(Access access, const Hints& hints,
                                         const std::optional<Error>& early) {
  settle();
  const auto operation = std::make_shared<Operation>(context_, std::move(access), hints);
  operation->begin(early);
  return operation;
}

std::shared_ptr<InFlight::Begun> InFlight::begin(Access access, Hints hints, Background background,
                                                 const std::optional<Error>& early) {
  const bool ahead =
      !access.writes() && background == Background::storage && hints.active_buffer_size > 0;
  // Reads may queue up behind each other; whatever else comes needs their exchanges done first.
  if (ahead) thread_.wait_for_all();
  else if (background != Background::all) settle();
  if (background == Background::none) hints.active_buffer_size = 0;
  const auto begun = std::make_shared<Begun>();
  begun->operation = std::make_shared<Operation>(context_, std::move(access), hints, background);
  if (background == Background::all) {
    begin_in_thread(begun, asked_placement_of(hints), early);
    return begun;
  }
  begun->operation->begin(early);
  keep(begun);
  return begun;
}

void InFlight::begin_in_thread(const std::shared_ptr<Begun>& begun, const Placement& placement,
                               const std::optional<Error>& early) {
  if (!threads_allowed_) {
    settle();
    require_threads();
  }
  end_exchanges();
  const Call call = InCall::current()->call();
  const auto work = [this, begun, early, call] {
    const InCall in(context_.comm, context_.storage.path(), call);
    begun->error = attempt([&] { begun->operation->begin(early); });
    context_.background_counts.add(context_.counts);
    if (!begun->error) keep(begun);
  };
  begun->ticket = thread_.submit(work, placement);
}

/// After its begin.
void InFlight::keep(const std::shared_ptr<Begun>& begun) {
  const std::lock_guard guard(mutex_);
  if (begun->operation->must_meet()) begun_.push_back(begun);
  else begun->error = begun->operation->end_alone();
}

/// Collective, once a file.
void InFlight::require_threads() {
  std::optional<Error> error;
  int level = MPI_THREAD_MULTIPLE;
  if (!context_.comm.is_null()) MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) {
    const char* const names[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                 "MPI_THREAD_SERIALIZED"};
    error = Error(ErrorClass::state,
                  std::string("background 'all' needs MPI_THREAD_MULTIPLE, but MPI runs with ") +
                      names[level == MPI_THREAD_SINGLE     ? 0
                            : level == MPI_THREAD_FUNNELED ? 1
                                                           : 2] +
                      "; ask for it (MPI_Init_thread; mpi4py.rc.thread_level = 'multiple'), or "
                      "use background 'storage'");
  }
  // An entry like any other: ranks that mean something else find out here.
  const std::vector<Common> nothing;
  enter(context_, [&] { return Entry{nothing, {}, error}; });
  threads_allowed_ = true;
}

void InFlight::settle() {
  thread_.wait_for_all();
  end_exchanges();
}

void InFlight::end_reads() {
  thread_.wait_for_all();
  while (any([](const Begun& begun) { return !begun.operation->access().writes(); }))
    end_first(nullptr);
}

void InFlight::end_everything() {
  thread_.wait_for_all();
  while (oldest() != 0) end_first(nullptr);
}

void InFlight::abandon() noexcept {
  const std::lock_guard guard(mutex_);
  for (const std::shared_ptr<Begun>& begun : begun_)
    if (!begun->error) begun->error = begun->operation->fate();
  begun_.clear();
}

template <class Holds>
bool InFlight::any(Holds&& holds) {
  const std::lock_guard guard(mutex_);
  return std::any_of(begun_.begin(), begun_.end(),
                     [&](const auto& begun) { return holds(*begun); });
}

std::shared_ptr<InFlight::Begun> InFlight::first() {
  const std::lock_guard guard(mutex_);
  return begun_.empty() ? nullptr : begun_.front();
}

std::int64_t InFlight::oldest() {
  const std::shared_ptr<Begun> begun = first();
  return begun ? begun->operation->call() : 0;
}

/// The oldest. Its errors wait for the handle's own wait(), unless the ranks have not even met for
/// it.
void InFlight::end_first(const Begun* asked) {
  const std::shared_ptr<Begun> begun = first();
  std::optional<Error> error =
      attempt([&] { begun->operation->end(/*asked=*/begun.get() == asked); });
  if (!begun->operation->ended()) throw Error(*error);
  begun->error = std::move(error);
  const std::lock_guard guard(mutex_);
  begun_.pop_front();
}

/// In order, up to the last one that has an exchange to do.
void InFlight::end_exchanges() {
  while (any([](const Begun& begun) { return begun.operation->has_exchange(); }))
    end_first(nullptr);
}

void InFlight::end(Begun& begun) {
  thread_.wait_for_all();
  context_.counts = {};
  while (any([&](const Begun& other) { return &other == &begun; })) end_first(&begun);
  if (begun.error) throw Error(*std::exchange(begun.error, std::nullopt));
}

bool InFlight::is_copied(Begun& begun, bool wait) {
  if (wait) {
    if (begun.ticket != 0) thread_.wait(begun.ticket);
    begun.operation->await_copied();
  }
  return (begun.ticket == 0 || thread_.is_done(begun.ticket)) && begun.operation->is_copied();
}

bool InFlight::is_done(Begun& begun) {
  return (begun.ticket == 0 || thread_.is_done(begun.ticket)) && begun.operation->is_done();
}

}  // namespace penstock
