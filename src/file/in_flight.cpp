#include "file/in_flight.hpp"

#include <mpi.h>

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
  const bool reads = !access.writes();
  const bool ahead = reads && background == Background::storage && hints.active_buffer_size > 0;
  // Reads may queue up behind each other; whatever else comes needs their exchanges done first.
  if (ahead) thread_.wait_for_all();
  else if (background != Background::all) settle();
  if (background == Background::none) hints.active_buffer_size = 0;
  const auto begun = std::make_shared<Begun>();
  begun->operation = std::make_shared<Operation>(context_, std::move(access), hints, background);
  if (background == Background::all) begin_in_thread(begun, placement_of(hints), early);
  else begun->operation->begin(early);
  std::erase_if(other_reads_, [](const auto& other) { return other->operation->ended(); });
  if (begun->ticket == 0 && reads)
    (begun->operation->has_exchange() ? reads_ : other_reads_).push_back(begun);
  return begun;
}

void InFlight::begin_in_thread(const std::shared_ptr<Begun>& begun, const Placement& placement,
                               const std::optional<Error>& early) {
  if (!threads_allowed_) {
    settle();
    require_threads(begun->operation->access().direction);
  }
  end_reads(nullptr);
  const auto work = [this, begun, early] {
    begun->error = attempt([&] { begun->operation->begin(early); });
    context_.background.add(context_.counts);
  };
  begun->ticket = thread_.submit(work, placement);
}

/// Collective, once a file.
void InFlight::require_threads(Direction direction) {
  std::optional<Error> error;
  int level = MPI_THREAD_MULTIPLE;
  if (context_.comm.handle() != MPI_COMM_NULL) MPI_Query_thread(&level);
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
  agree_on_entry(context_.comm, {{"the operation", Operation::name(direction, Background::all)}},
                 {}, error);
  threads_allowed_ = true;
}

void InFlight::settle() {
  thread_.wait_for_all();
  end_reads(nullptr);
}

void InFlight::end_everything() {
  settle();
  for (const std::shared_ptr<Begun>& other : std::exchange(other_reads_, {}))
    other->error = attempt([&] { other->operation->end(/*asked=*/false); });
}

/// In order, up to and with `last` (null: all). Errors wait for the handles' own wait().
void InFlight::end_reads(const Begun* last) {
  while (!reads_.empty()) {
    const std::shared_ptr<Begun> oldest = reads_.front();
    reads_.pop_front();
    oldest->error = attempt([&] { oldest->operation->end(oldest.get() == last); });
    if (oldest.get() == last) return;
  }
}

void InFlight::end(Begun& begun) {
  thread_.wait_for_all();
  if (begun.operation->has_exchange()) end_reads(&begun);
  else if (!begun.error) begun.operation->end();
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
