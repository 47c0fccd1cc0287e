#include "engine/operation.hpp"

#include <algorithm>

#include "engine/node.hpp"
#include "mpi/agree.hpp"

namespace penstock {
namespace {

void move_independently(Context& context, const Access& access, const Plan& plan,
                        const Hints& hints) {
  const bool buffered = access.writes() && context.buffering.budget > 0;
  if (plan.method == Method::sieved) move_sieved(context, access, hints);
  else if (buffered) buffer_directly(context, access, hints);
  else if (plan.mapped && move_mapped(context, access)) return;
  else move_direct(context, access, hints);
}

}  // namespace

CallKind Operation::kind(Direction direction, std::optional<Background> background) {
  const bool reads = direction == Direction::read;
  if (!background) return reads ? CallKind::read : CallKind::write;
  const CallKind first = reads ? CallKind::read_begin_none : CallKind::write_begin_none;
  return static_cast<CallKind>(static_cast<int>(first) + static_cast<int>(*background));
}

Operation::Operation(OpenFile& file, Access access, const Hints& hints,
                     std::optional<Background> background, std::optional<Error> early,
                     Company company)
    : file_(file),
      context_(file,
               company == Company::collective
                   ? file.next_channel(kind(access.direction, background))
                   : Channel{file.comm, file.storage.path(), {kind(access.direction, background)}},
               file.buffers, access.region),
      access_(std::move(access)),
      hints_(resolve_hints(hints, file.machine, context_.units.grain)),
      asked_{access_.direction, background, access_.atomic ? 0 : hints.active_buffer_size.value()},
      company_(company),
      early_(std::move(early)) {
  if (company_ == Company::collective) {
    file_.beginnings.join(call());
    file_.exchanges.join(call());
    file_.ends.join(call());
  }
  running_.emplace(run());
}

Operation::~Operation() = default;

void Operation::post() noexcept {
  posted_ = true;
  if (access_.writes()) asked_.background.reset();
}

bool Operation::advance() {
  if (!ended_ && running_) running_->advance();
  return ended_;
}

bool Operation::is_ready() {
  if (ended_) return true;
  if (!begun_ || (prepared_ && !prepared_->queue->has_read_ahead())) return false;
  return context_.buffered->is_done(ticket_);
}

void Operation::mark_reported() {
  if (!error_ || !asked_for_ || failed_to_begin_) return;
  file_.unreported_failure();
  file_.unreported.reset();
}

/// Leave the turns in any case: nobody may wait for an operation that has failed.
Task<> Operation::run() {
  // A blocking call lasts as long as its operation.
  const Phase blocking = access_.writes() ? Phase::write_call : Phase::read_call;
  const Timed whole(context_.record, blocks() ? blocking : Phase::in_flight, access_.file.bytes(),
                    access_.file.empty() ? -1 : access_.file.hull().begin);
  try {
    if (company_ == Company::collective) co_await begin();
    else co_await begin_alone();
  } catch (...) {
    error_ = current_error();
    failed_to_begin_ = true;
  }
  file_.beginnings.leave(call());
  begun_ = true;
  const bool continues = !error_ && (route_ == Route::aside || route_ == Route::ahead ||
                                     (route_ == Route::buffered && asked_.background));
  if (continues) {
    try {
      co_await finish();
    } catch (...) {
      error_ = current_error();
    }
  }
  prepared_.reset();
  file_.exchanges.leave(call());
  file_.ends.leave(call());
  ended_ = true;
}

namespace {

/// While one exists, the ranks of this node know where this rank will queue writes. A rank whose
/// bytes have been copied returns from the call, and may read them before their window is queued.
class AnnouncedWrite {
 public:
  AnnouncedWrite(std::shared_ptr<BufferedFile> file, Extent extent)
      : file_(std::move(file)), extent_(extent) {
    file_->announce(extent_);
  }
  AnnouncedWrite(const AnnouncedWrite&) = delete;
  ~AnnouncedWrite() { file_->retract(extent_); }

 private:
  std::shared_ptr<BufferedFile> file_;
  Extent extent_;
};

}  // namespace

Task<> Operation::start(const Demand& all) {
  if (route_ == Route::aside) {
    set_aside();
    co_return;
  }
  if (route_ == Route::ahead) {
    co_await read_ahead(all);
    co_return;
  }
  if (route_ == Route::buffered && context_.buffering.cached && blocks())
    context_.copying.emplace(context_.background, context_.comm.team());
  // In a call that does not block, other ranks may be elsewhere: waiting for what is announced
  // could take for ever.
  std::optional<AnnouncedWrite> announcement;
  if (const Extent mine = will_queue(all); blocks() && !mine.empty())
    announcement.emplace(context_.buffered, mine);
  std::optional<Error> error;
  try {
    if (plan_.collective()) co_await move_collectively(all);
    else move_independently(context_, access_, plan_, hints_);
    note_cache_speed(all);
  } catch (...) {
    error = current_error();
  }
  announcement.reset();
  context_.copying.reset();
  count_memory();
  ticket_ = context_.buffering.last;
  if (route_ != Route::buffered) {
    if (route_ == Route::reported_at_end) co_await keep_for_end(std::move(error));
    else co_await agree(std::move(error));
    co_return;
  }
  copied_ = true;
  // The file is unchanged so far. An error at this point is reported like a background error.
  if (error) context_.buffered->fail(*error, &file_, number_);
  // This is not announced to the node: the bytes of others that this rank holds must be queued
  // before anybody may read them.
  if (posted_) co_await agree(std::nullopt);
}

/// Where this rank buffers bytes that others asked to write.
Extent Operation::will_queue(const Demand& all) const {
  if (route_ != Route::buffered || !plan_.collective()) return {};
  const std::int64_t aggregator = plan_.aggregator_of(context_.comm.rank());
  return aggregator < 0 ? Extent{} : intersect(plan_.domains.hull(aggregator), all.hull());
}

/// Immediate errors are reported like later ones: by the end call or the next call.
Task<> Operation::keep_for_end(std::optional<Error> error) {
  if (error && access_.writes()) {
    context_.buffered->fail(*error, &file_, number_);
    error = context_.buffered->lost(&file_, number_);
  }
  try {
    co_await agree(std::move(error));
  } catch (...) {
    error_ = current_error();
  }
}

Task<> Operation::read_ahead(const Demand& all) {
  prepared_.emplace(co_await begin_collectively(context_, access_, plan_, hints_, all));
  if (context_.machine.page_cache && context_.storage.read_ahead({})) warm_page_cache();
  else prepared_->queue->read_ahead(*prepared_->table, context_.buffering.budget);
  count_memory();
}

/// Bytes in the page cache are read as fast as from a buffer, without another copy.
void Operation::warm_page_cache() {
  std::vector<Extent> extents = prepared_->table->extents_left();
  if (extents.empty()) return;
  IoUnit unit;
  unit.placement = context_.buffering.placement;
  unit.work = [&storage = file_.storage, extents = std::move(extents)] {
    for (const Extent extent : extents) storage.read_ahead(extent);
  };
  ticket_ = context_.buffered->submit(std::move(unit));
}

Task<> Operation::move_collectively(const Demand& all) {
  Prepared prepared = co_await begin_collectively(context_, access_, plan_, hints_, all);
  co_await end_collectively(context_, access_, plan_, prepared);
}

/// For a write whose bytes have been moved.
void Operation::note_cache_speed(const Demand& all) {
  if (!access_.writes() || plan_.buffered || !context_.machine.page_cache) return;
  const std::int64_t calls =
      plan_.method == Method::direct ? access_.file.run_count() : context_.record.counts.rounds;
  file_.io.cache_speed->note(all.bytes / std::max(1, context_.machine.nodes),
                             context_.record.counts.time_storage, calls, CacheSpeed::Clock::now());
}

/// Throws on all ranks if one passes an error.
Task<> Operation::agree(std::optional<Error> error) {
  if (company_ == Company::independent) {
    if (error) throw Error(*error);
    co_return;
  }
  ++context_.record.counts.synchronisations;
  const Timed leaving(context_.record, Phase::wait);
  co_await agree_on_exit(context_.channel, error);
}

void Operation::count_memory() {
  context_.record.counts.staging_peak = context_.gauge.peak();
  if (plan_.collective() && plan_.exchange == Exchange::node)
    context_.record.counts.staging_peak += file_.staging.own_bytes(context_.comm.team()->rank());
  context_.record.counts.allocations += context_.gauge.allocations();
  context_.record.counts.buffer_peak = context_.background.memory().peak();
}

/// This rank's whole part is one unit, from or into user memory.
void Operation::set_aside() {
  if (access_.file.empty()) return;
  IoUnit unit;
  if (access_.writes()) unit.extent = access_.file.hull();
  unit.owner = &file_;
  unit.operation = number_;
  unit.placement = context_.buffering.placement;
  aside_.emplace(context_, access_, plan_.method, hints_);
  unit.work = [aside = std::shared_ptr<AsideMove>(shared_from_this(), &*aside_)] {
    aside->carry_out_and_keep();
  };
  ticket_ = context_.buffered->submit(std::move(unit));
}

/// The part after the call that began it has returned.
Task<> Operation::finish() {
  if (route_ == Route::ahead) {
    co_await exchange_what_was_read();
    co_return;
  }
  file_.exchanges.leave(call());
  co_await await_own_units();
  copied_ = true;
  co_await agree(fate_in_background());
}

/// For an operation whose last unit has ended.
std::optional<Error> Operation::fate_in_background() {
  std::optional<Error> error = access_.writes() ? context_.buffered->lost(&file_, number_)
                               : aside_         ? aside_->error()
                                                : std::nullopt;
  // An error reported here is not reported again by the next call.
  if (asked_for_ && (error || !access_.writes()))
    if (const std::optional<Error>& failure = file_.unreported_failure()) error = failure;
  return error;
}

Task<> Operation::exchange_what_was_read() {
  co_await until(Expect::meeting, [&] { return file_.exchanges.is_turn_of(call()); });
  co_await await_own_units();
  context_.gauge.restart();
  context_.buffering = {};
  // The shared memory may have been set up for another plan since.
  if (prepared_->exchange == Exchange::node && !co_await make_room(context_, plan_, true))
    prepared_->exchange = Exchange::sparse;
  std::optional<Error> error;
  try {
    co_await end_collectively(context_, access_, plan_, *prepared_);
  } catch (...) {
    error = current_error();
  }
  if (!error && asked_for_) error = file_.unreported_failure();
  count_memory();
  prepared_.reset();
  co_await agree(std::move(error));
}

/// Units of this call and of earlier writes: a read depends on them, and on their errors.
Task<> Operation::await_own_units() {
  const bool reads = !access_.writes();
  co_await await_units(context_, [&, reads] {
    return context_.buffered->is_done(ticket_) &&
           (!prepared_ || prepared_->queue->has_read_ahead()) &&
           (!reads || context_.buffered->is_drained(BufferedFile::Which::writes));
  });
}

void Operation::abandon() {
  if (ended_) return;
  if (access_.writes()) {
    if (!error_) error_ = context_.buffered->lost(&file_, number_);
  } else {
    error_ = Error(ErrorClass::state, "the file '" + context_.storage.path() +
                                          "' was abandoned before this read had ended: its memory "
                                          "does not hold what was asked for");
  }
  prepared_.reset();
  running_.reset();  // a handle may outlive the file
  ended_ = begun_ = true;
}

}  // namespace penstock
