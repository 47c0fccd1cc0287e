#include "engine/operation.hpp"

#include <algorithm>

#include "engine/node.hpp"
#include "mpi/agree.hpp"

namespace penstock {
namespace {

/// What all ranks must pass alike. Rendered anew only when the hints have changed.
const std::vector<Common>& common_values(OpenFile& file, const Hints& hints) {
  if (file.common.empty() || !(file.common_hints == hints)) {
    file.common.clear();
    for (const auto& [name, value] : hints.text())
      if (must_be_common(name) && name != "locks") file.common.push_back({name, value});
    file.common_hints = hints;
  }
  return file.common;
}

/// Copies this rank's descriptor to the memory of its node, for the ranks there, if it is short
/// enough. Returns the number of its words; 0 where the node has no memory in common.
std::int64_t publish_descriptor(Context& context, const Access& access) {
  Team* const team = context.comm.team();
  if (team == nullptr) return 0;
  const std::vector<std::int64_t> words = access.file.encode();
  Team::Mailbox& mailbox = team->own_mailbox();
  const auto turn = context.channel.number % 2;
  const auto count = static_cast<std::int64_t>(words.size());
  mailbox.words[turn] = count <= Team::descriptor_words ? count : 0;
  std::copy_n(words.begin(), mailbox.words[turn], mailbox.descriptor[turn]);
  return count;
}

void move_independently(Context& context, const Access& access, const Plan& plan,
                        const Hints& hints) {
  const bool buffered = access.writes() && context.buffering.budget > 0;
  if (plan.method == Method::sieved) move_sieved(context, access, hints);
  else if (buffered) buffer_directly(context, access, hints);
  else move_direct(context, access, hints);
}

}  // namespace

Task<Demand> enter(OpenFile& file, const Channel& channel, const Entry& entry) {
  try {
    co_return co_await agree_on_entry(channel, entry);
  } catch (const Error& error) {
    if (error.error_class() != ErrorClass::disagreement) file.untold.reset();
    throw;
  }
}

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
      context_(std::make_shared<Context>(
          file,
          company == Company::collective
              ? file.next_channel(kind(access.direction, background))
              : Channel{file.comm, file.storage.path(), {kind(access.direction, background)}},
          file.buffers)),
      access_(std::move(access)),
      hints_(resolve_hints(hints, file.machine, file.units.grain)),
      asked_{access_.direction, background, hints.active_buffer_size},
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

bool Operation::advance() {
  if (!ended_ && running_) running_->advance();
  return ended_;
}

bool Operation::is_ready() {
  if (ended_) return true;
  if (!begun_ || (prepared_ && !prepared_->queue->has_read_ahead())) return false;
  return context_->buffered->is_done(ticket_);
}

void Operation::tell() {
  if (!error_ || !asked_for_ || failed_to_begin_) return;
  file_.failure_to_tell();
  file_.untold.reset();
}

/// The turns are left in any case: nobody may wait for an operation that has failed.
Task<> Operation::run() {
  const Timed whole(context_->record, Phase::operation, access_.file.bytes(),
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
  const bool goes_on = !error_ && (route_ == Route::aside || route_ == Route::ahead ||
                                   (route_ == Route::buffered && asked_.background));
  if (goes_on) {
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

Task<> Operation::begin() {
  // Slots of meetings and tags are used again.
  co_await until(Expect::meeting, [&] {
    return file_.beginnings.is_turn_of(call()) && file_.ends.first() > call() - Team::slots;
  });
  if (!can_queue_up())
    co_await until(Expect::meeting, [&] { return file_.exchanges.is_turn_of(call()); });
  std::optional<Timed> watch(std::in_place, context_->record, Phase::plan);
  co_await prepare_buffering();
  Demand demand;
  const std::optional<Error> error = locate(demand);
  const Entry entry{common_values(file_, hints_), demand, error};
  const Demand all = co_await enter(file_, context_->channel, entry);
  if (!all.any_winner) access_.overlap = Overlap::highest_rank;
  if (access_.writes()) context_->buffering.operation = number_ = ++file_.writes;
  context_->record.counts.synchronisations += 1;
  co_await decide(all);
  watch.reset();
  if (route_ != Route::ahead)
    co_await until(Expect::meeting, [&] { return file_.exchanges.is_turn_of(call()); });
  co_await order_after_pending(all);
  context_->record.counts.bytes_wanted = access_.file.bytes();
  co_await start(all);
}

/// Planned as if this rank were alone; what it has pending itself is waited for.
Task<> Operation::begin_alone() {
  co_await prepare_buffering();
  Demand demand;
  const std::optional<Error> error = locate(demand);
  if (error) {
    file_.untold.reset();
    throw Error(*error);
  }
  if (access_.writes()) context_->buffering.operation = number_ = ++file_.writes;
  Machine machine = context_->machine;
  machine.ranks = machine.writers = machine.nodes = 1;
  machine.shared_memory = false;
  context_->buffering.cached = !demand.slow;
  context_->buffering.budget = choose_budget(asked_, demand, machine);
  hints_.method = sieves(demand) ? Method::sieved : Method::direct;
  hints_.aggregators = 0;
  if (access_.writes()) hints_.active_buffer_size = context_->buffering.budget;
  plan_ = make_plan(context_->units, demand, hints_, machine, access_.writes());
  route_ = choose_route(asked_, demand, plan_);
  if (!access_.writes()) {
    const BackgroundIo::Expedite expedite(context_->background);
    co_await await_units(
        *context_, [&] { return context_->buffered->is_drained(BufferedFile::Which::writes); });
  }
  context_->record.counts.bytes_wanted = access_.file.bytes();
  co_await start(demand);
}

/// Of an independent operation.
bool Operation::sieves(const Demand& demand) const {
  if (hints_.method == Method::sieved || hints_.method == Method::direct)
    return hints_.method == Method::sieved;
  return sieving_pays(demand.hull().length(), demand.bytes, demand.runs, access_.writes());
}

/// Waits for this rank's pending units of the file: all of them before an unbuffered write, reads
/// before any write. After the agreement that follows this holds on all ranks.
Task<> Operation::prepare_buffering() {
  // What a call with other settings needed is not kept: staging memory is bounded by this call's.
  if (!(hints_ == file_.common_hints)) context_->pool.clear();
  context_->gauge.restart();
  ActiveBuffer& active = context_->background.memory();
  context_->buffering.placement = placement_of(hints_);
  context_->buffering.budget = asked_.budget();
  // A call that does without a buffer is no wish for less memory.
  if (access_.writes() && asked_.background != Background::none) {
    if (file_.last_budget > hints_.active_buffer_size) active.trim(hints_.active_buffer_size);
    file_.last_budget = hints_.active_buffer_size;
  }
  // Another rank could overtake reads that are still queued here.
  if (access_.writes()) {
    const auto which =
        context_->buffering.budget == 0 ? BufferedFile::Which::all : BufferedFile::Which::reads;
    co_await await_units(*context_, [&, which] { return context_->buffered->is_drained(which); });
  }
  active.restart_peak();
}

std::optional<Error> Operation::locate(Demand& demand) {
  // Before one looks for failures: what fails after this is known to be pending.
  const Extent pending = context_->buffered->pending_hull();
  std::optional<Error> error = early_;
  if (!error) error = file_.failure_to_tell();
  if (!error)
    error = attempt([&] {
      check_hints(hints_, context_->units.grain, context_->machine.ranks);
      demand = Demand::of(access_.file);
      if (company_ == Company::collective) demand.words = publish_descriptor(*context_, access_);
      demand.any_winner = access_.overlap == Overlap::unspecified;
      demand.slow = is_slow();
      demand.room = context_->buffering.budget - context_->background.memory().in_use();
    });
  if (error) demand = {};
  if (!pending.empty()) {
    demand.pending_begin = pending.begin;
    demand.pending_end = pending.end;
  }
  return error;
}

/// Whether this rank's access would wait for a device: it bypasses the page cache, or the kernel
/// makes writers wait for the device, or some of the bytes to read are not in the page cache.
bool Operation::is_slow() const {
  constexpr std::int64_t samples = 8;
  if (!context_->machine.page_cache) return true;
  if (access_.writes()) return file_.cache_speed->is_slow(CacheSpeed::Clock::now());
  if (!asked_.leaves_storage() || access_.file.empty()) return false;
  const Extent hull = access_.file.hull();
  for (std::int64_t i = 0; i <= samples; ++i) {
    const std::int64_t at = access_.file.next(hull.begin + (hull.length() - 1) / samples * i);
    if (!context_->storage.is_cached(std::min(at, hull.end - 1))) return true;
  }
  return false;
}

/// The plan and the route: the same on every rank.
Task<> Operation::decide(Demand all) {
  context_->buffering.cached = !all.slow;
  context_->buffering.budget = choose_budget(asked_, all, context_->machine);
  if (access_.writes()) hints_.active_buffer_size = context_->buffering.budget;
  const auto make = [&] {
    const bool ahead = can_queue_up() && !context_->machine.page_cache;
    plan_ = make_plan(context_->units, all, hints_, context_->machine, access_.writes(), ahead);
    route_ = choose_route(asked_, all, plan_);
  };
  make();
  // Of what is ahead the exchange comes later; others may have the memory until then.
  if (!plan_.collective() || plan_.exchange != Exchange::node || route_ == Route::ahead) co_return;
  co_await until(Expect::meeting, [&] { return file_.exchanges.is_turn_of(call()); });
  if (!co_await make_room(*context_, plan_, uses_io_thread(route_))) make();
}

/// Pending units of earlier writes are written first if this call could overtake or miss them.
Task<> Operation::order_after_pending(const Demand& all) {
  if (uses_io_thread(route_)) co_await keep_order(*context_, access_, plan_, all);
  else co_await await_written(*context_, access_, all);
}

Task<> Operation::start(const Demand& all) {
  if (route_ == Route::aside) {
    set_aside();
    co_return;
  }
  if (route_ == Route::ahead) {
    co_await read_ahead(all);
    co_return;
  }
  if (route_ == Route::buffered && context_->buffering.cached)
    context_->buffering.copying =
        std::make_unique<Copying>(context_->background, context_->comm.team());
  std::optional<Error> error;
  try {
    co_await move(all);
  } catch (...) {
    error = current_error();
  }
  context_->buffering.copying.reset();
  count_memory();
  ticket_ = context_->buffering.last;
  if (route_ != Route::buffered) {
    if (route_ == Route::told_at_end) co_await keep_for_end(std::move(error));
    else co_await leave(std::move(error));
    co_return;
  }
  copied_ = true;
  // Nothing has touched the file yet. What went wrong all the same is told with what goes wrong
  // there.
  if (error) context_->buffered->fail(*error, &file_, number_);
}

/// What went wrong at once is told like what goes wrong later: by the end or the next call.
Task<> Operation::keep_for_end(std::optional<Error> error) {
  if (error && access_.writes()) {
    context_->buffered->fail(*error, &file_, number_);
    error = context_->buffered->lost(&file_, number_);
  }
  try {
    co_await leave(std::move(error));
  } catch (...) {
    error_ = current_error();
  }
}

Task<> Operation::read_ahead(const Demand& all) {
  prepared_.emplace(co_await begin_collectively(*context_, access_, plan_, hints_, all));
  if (context_->machine.page_cache && context_->storage.read_ahead({})) warm_page_cache();
  else prepared_->queue->read_ahead(*prepared_->table, context_->buffering.budget);
  count_memory();
}

/// Bytes in the page cache are read as fast as bytes in a buffer, and need no further copy.
void Operation::warm_page_cache() {
  std::vector<Extent> extents = prepared_->table->extents_left();
  if (extents.empty()) return;
  IoUnit unit;
  unit.placement = context_->buffering.placement;
  unit.work = [&storage = context_->storage, extents = std::move(extents)] {
    for (const Extent extent : extents) storage.read_ahead(extent);
  };
  ticket_ = context_->buffered->submit(std::move(unit));
}

Task<> Operation::move(const Demand& all) {
  if (plan_.collective()) {
    Prepared prepared = co_await begin_collectively(*context_, access_, plan_, hints_, all);
    co_await end_collectively(*context_, access_, plan_, prepared);
  } else {
    move_independently(*context_, access_, plan_, hints_);
  }
  if (!access_.writes() || plan_.buffered || !context_->machine.page_cache) co_return;
  const std::int64_t calls =
      plan_.method == Method::direct ? access_.file.run_count() : context_->record.counts.rounds;
  file_.cache_speed->note(all.bytes / std::max(1, context_->machine.nodes),
                          context_->record.counts.time_storage, calls, CacheSpeed::Clock::now());
}

Task<> Operation::leave(std::optional<Error> error) {
  co_await agree(error);
}

/// Throws on all ranks what one of them brings.
Task<> Operation::agree(const std::optional<Error>& error) {
  if (company_ == Company::independent) {
    if (error) throw Error(*error);
    co_return;
  }
  ++context_->record.counts.synchronisations;
  const Timed leaving(context_->record, Phase::wait);
  co_await agree_on_exit(context_->channel, error);
}

void Operation::count_memory() {
  context_->record.counts.staging_peak = context_->gauge.peak();
  if (plan_.collective() && plan_.exchange == Exchange::node)
    context_->record.counts.staging_peak += file_.staging.own_bytes(context_->comm.team()->rank());
  context_->record.counts.allocations += context_->gauge.allocations();
  context_->record.counts.buffer_peak = context_->background.memory().peak();
}

/// All of this rank's part is one unit, from or into user memory.
void Operation::set_aside() {
  if (access_.file.empty()) return;
  IoUnit unit;
  if (access_.writes()) unit.extent = access_.file.hull();
  unit.owner = &file_;
  unit.operation = number_;
  unit.placement = context_->buffering.placement;
  unit.work = [self = shared_from_this()] {
    const std::optional<Error> error = attempt(
        [&] { move_aside(*self->context_, self->access_, self->plan_.method, self->hints_); });
    if (error && self->access_.writes()) throw Error(*error);
    self->aside_error_ = error;
  };
  ticket_ = context_->buffered->submit(std::move(unit));
}

/// What comes after the call that began it.
Task<> Operation::finish() {
  if (route_ == Route::ahead) {
    co_await exchange_what_was_read();
    co_return;
  }
  file_.exchanges.leave(call());
  co_await await_own_units();
  copied_ = true;
  const std::optional<Error> error = fate_in_background();
  co_await agree(error);
}

/// Of an operation whose last unit has ended.
std::optional<Error> Operation::fate_in_background() {
  std::optional<Error> error =
      access_.writes() ? context_->buffered->lost(&file_, number_) : aside_error_;
  // What is told here is not told again by the next call.
  if (asked_for_ && (error || !access_.writes()))
    if (const std::optional<Error>& failure = file_.failure_to_tell()) error = failure;
  return error;
}

Task<> Operation::exchange_what_was_read() {
  co_await until(Expect::meeting, [&] { return file_.exchanges.is_turn_of(call()); });
  co_await await_own_units();
  context_->gauge.restart();
  context_->buffering = {};
  // Another plan may have been at work before.
  if (prepared_->exchange == Exchange::node && !co_await make_room(*context_, plan_, true))
    prepared_->exchange = Exchange::sparse;
  std::optional<Error> error;
  try {
    co_await end_collectively(*context_, access_, plan_, *prepared_);
  } catch (...) {
    error = current_error();
  }
  if (!error && asked_for_) error = file_.failure_to_tell();
  count_memory();
  prepared_.reset();
  co_await leave(std::move(error));
}

/// Of this call, and of the writes before it: a read sees them, and their errors.
Task<> Operation::await_own_units() {
  const bool reads = !access_.writes();
  co_await await_units(*context_, [&, reads] {
    return context_->buffered->is_done(ticket_) &&
           (!prepared_ || prepared_->queue->has_read_ahead()) &&
           (!reads || context_->buffered->is_drained(BufferedFile::Which::writes));
  });
}

void Operation::abandon() {
  if (ended_) return;
  if (access_.writes()) {
    if (!error_) error_ = context_->buffered->lost(&file_, number_);
  } else {
    error_ = Error(ErrorClass::state, "the file '" + context_->storage.path() +
                                          "' was let go of before this read had ended: its memory "
                                          "does not hold what was asked for");
  }
  prepared_.reset();
  running_.reset();  // a handle may outlive the file
  ended_ = begun_ = true;
}

}  // namespace penstock
