#include "engine/operation.hpp"

#include <algorithm>
#include <cstdio>

#include "engine/node.hpp"
#include "mpi/agree.hpp"

namespace penstock {
namespace {

const std::vector<Common> no_common;

/// What all ranks must pass alike. Rendered anew only when the hints have changed.
const std::vector<Common>& common_values(Context& context, const Hints& hints) {
  if (context.common.empty() || !(context.common_hints == hints)) {
    context.common.clear();
    for (const auto& [name, value] : hints.text())
      if (must_be_common(name) && name != "locks") context.common.push_back({name, value});
    context.common_hints = hints;
  }
  return context.common;
}

/// Says once what does not work as wished, on one rank.
void notice(const Context& context, const std::string& text) {
  if (context.comm.rank() == 0) std::fprintf(stderr, "penstock: %s\n", text.c_str());
}

/// Leaves this rank's description where those of its node find it.
std::int64_t leave_letter(Context& context, const Access& access) {
  Team* const team = context.comm.team();
  if (team == nullptr) return 0;
  const std::vector<std::int64_t> words = access.file.encode();
  Team::Desk& desk = team->own_desk();
  const int turn = (context.calls + 1) % 2;
  const auto count = static_cast<std::int64_t>(words.size());
  desk.words[turn] = count <= Team::letter_words ? count : 0;
  std::copy_n(words.begin(), desk.words[turn], desk.letter[turn]);
  return count;
}

/// The memory of the node exchange, as this plan wants it. Every rank comes here, or none. False
/// on all ranks where it cannot be had.
bool make_room(Context& context, const Plan& plan, bool arenas) {
  Team& team = *context.comm.team();
  const StagingKey key{plan.domains.aggregators(), plan.domains.buffer(), plan.depth,
                       plan.buffered};
  const bool lacks_arenas = arenas && !context.arenas.there();
  if (key == context.staging_key && !lacks_arenas) return true;
  std::string why;
  bool works =
      key == context.staging_key || context.staging.fit(team, NodeRoles(team, plan).shape(), why);
  // Both are collective: every rank does the second, whatever the first came to.
  if (lacks_arenas) works = context.arenas.fit(team, context.background.memory(), why) && works;
  ++context.counts.allocations;
  context.counts.synchronisations += 2;
  const std::optional<Error> error =
      works ? std::nullopt : std::optional(Error(ErrorClass::internal, why));
  try {
    agree_on_exit(context.comm, error);
  } catch (const Error& failed) {
    context.machine.shared_memory = false;
    context.staging.release();
    context.staging_key = {};
    notice(context, std::string("no shared memory for the staging buffers (") + failed.what() +
                        "); exchanging by messages instead. A larger /dev/shm, or a smaller "
                        "buffer_size, helps");
    return false;
  }
  context.staging_key = key;
  return true;
}

void move_independently(Context& context, const Access& access, const Plan& plan,
                        const Hints& hints) {
  const bool buffered = access.writes() && context.buffering.budget > 0;
  if (plan.method == Method::sieved) move_sieved(context, access, hints);
  else if (buffered) buffer_directly(context, access, hints);
  else move_direct(context, access, hints);
}

}  // namespace

CallKind Operation::kind(Direction direction, std::optional<Background> background) {
  const bool reads = direction == Direction::read;
  if (!background) return reads ? CallKind::read : CallKind::write;
  const CallKind first = reads ? CallKind::read_begin_none : CallKind::write_begin_none;
  return static_cast<CallKind>(static_cast<int>(first) + static_cast<int>(*background));
}

void Operation::begin(const std::optional<Error>& early) {
  hints_ = settle_hints(hints_, context_.machine, context_.units.grain);
  std::optional<Stopwatch> watch(context_.counts.time_plan);
  const Demand all = enter(context_, [&] { return prepare(early); });
  call_ = context_.entered;
  ++context_.calls;
  if (access_.writes()) context_.buffering.operation = number_ = ++context_.writes;
  context_.counts.synchronisations += 1;
  decide(all);
  watch.reset();
  settle_order(all);
  context_.counts.bytes_wanted = access_.file.bytes();
  start(all);
  ended_ = false;
}

/// What this rank brings to the entry. Changes nothing that lasts: it may be made again.
Entry Operation::prepare(const std::optional<Error>& early) {
  context_.counts = {};
  // What a call with other settings needed is not kept: staging memory is bounded by this call's.
  if (!(hints_ == context_.common_hints)) context_.pool.clear();
  context_.gauge.restart();
  settle_buffering();
  Demand demand;
  std::optional<Error> error = locate(demand, early);
  return {common_values(context_, hints_), demand, std::move(error)};
}

/// What is buffered of this file is written before anybody writes past the buffer, and read before
/// anybody writes: each rank sees to its own, and the agreement that follows to all.
void Operation::settle_buffering() {
  ActiveBuffer& active = context_.background.memory();
  context_.buffering = {};
  context_.buffering.placement = placement_of(hints_);
  context_.buffering.budget = asked_.budget();
  // A call that does without a buffer is no wish for less memory.
  if (access_.writes() && asked_.background != Background::none) {
    if (context_.last_budget > hints_.active_buffer_size) active.trim(hints_.active_buffer_size);
    context_.last_budget = hints_.active_buffer_size;
  }
  const Stopwatch watch(context_.counts.time_wait);
  // Another rank could overtake reads that are still queued here.
  if (access_.writes())
    context_.buffered->drain(context_.buffering.budget == 0 ? BufferedFile::Which::all
                                                            : BufferedFile::Which::reads);
  active.restart_peak();
}

std::optional<Error> Operation::locate(Demand& demand, const std::optional<Error>& early) {
  // Before one looks for failures: what fails after this is known to be pending.
  const Extent pending = context_.buffered->pending_hull();
  std::optional<Error> error = early;
  if (!error) error = context_.failure_to_tell();
  if (!error)
    error = attempt([&] {
      check_hints(hints_, context_.units.grain, context_.machine.ranks);
      demand = Demand::of(access_.file);
      demand.words = leave_letter(context_, access_);
      demand.slow = is_far();
      demand.room = context_.buffering.budget - context_.background.memory().in_use();
    });
  if (error) demand = {};
  if (!pending.empty()) {
    demand.pending_begin = pending.begin;
    demand.pending_end = pending.end;
  }
  return error;
}

/// Whether this rank's bytes are farther away than the page cache has them usually: the kernel
/// makes writers wait for the device, or some of what is read is not there yet.
bool Operation::is_far() const {
  constexpr std::int64_t samples = 8;
  if (!context_.machine.page_cache) return true;
  if (access_.writes()) return context_.cache_speed->is_slow(CacheSpeed::Clock::now());
  if (!asked_.leaves_storage() || access_.file.empty()) return false;
  const Extent hull = access_.file.hull();
  for (std::int64_t i = 0; i <= samples; ++i) {
    const std::int64_t at = access_.file.next(hull.begin + (hull.length() - 1) / samples * i);
    if (!context_.storage.is_near(std::min(at, hull.end - 1))) return true;
  }
  return false;
}

/// The plan and the route: the same on every rank.
void Operation::decide(const Demand& all) {
  context_.buffering.near = !all.slow;
  context_.buffering.budget = choose_budget(asked_, all, context_.machine);
  if (access_.writes()) hints_.active_buffer_size = context_.buffering.budget;
  const auto make = [&] {
    const bool ahead = asked_.leaves_storage() && !access_.writes() && !context_.machine.page_cache;
    plan_ = make_plan(context_.units, all, hints_, context_.machine, access_.writes(), ahead);
    route_ = choose_route(asked_, all, plan_);
  };
  make();
  if (plan_.collective() && plan_.exchange == Exchange::node &&
      !make_room(context_, plan_, uses_io_thread(route_)))
    make();
}

/// What is buffered of earlier writes gets into the file before this call could miss it.
void Operation::settle_order(const Demand& all) {
  if (uses_io_thread(route_)) keep_order(context_, access_, plan_, all);
  else await_written(context_, access_, all);
}

void Operation::start(const Demand& all) {
  if (route_ == Route::aside) return set_aside();
  if (route_ == Route::ahead) return read_ahead(all);
  if (route_ == Route::buffered && context_.buffering.near)
    context_.buffering.copying =
        std::make_unique<Copying>(context_.background, context_.comm.team());
  const std::optional<Error> error = attempt([&] { move(all); });
  context_.buffering.copying.reset();
  count_memory();
  ticket_ = context_.buffering.last;
  if (route_ == Route::told_at_end) return keep_for_end(error);
  if (route_ == Route::now) return leave(error);
  // Nothing has touched the file yet. What went wrong all the same is told with what goes wrong
  // there.
  if (error) context_.buffered->fail(*error, &context_, number_);
}

void Operation::read_ahead(const Demand& all) {
  prepared_.emplace(begin_collectively(context_, access_, plan_, hints_, all));
  if (context_.machine.page_cache && context_.storage.read_ahead({})) warm_page_cache();
  else prepared_->queue->read_ahead(*prepared_->table, context_.buffering.budget);
  count_memory();
}

/// What went wrong at once is told like what goes wrong later: by end() or the next call.
void Operation::keep_for_end(const std::optional<Error>& error) {
  error_ = attempt([&] { leave(error); });
  if (error && access_.writes()) context_.buffered->fail(*error, &context_, number_);
}

/// Bytes in the page cache are as near as bytes in a buffer, and need no further copy.
void Operation::warm_page_cache() {
  std::vector<Extent> extents = prepared_->table->extents_left();
  if (extents.empty()) return;
  IoUnit unit;
  unit.placement = context_.buffering.placement;
  unit.work = [&storage = context_.storage, extents = std::move(extents)] {
    for (const Extent extent : extents) storage.read_ahead(extent);
  };
  ticket_ = context_.buffered->submit(std::move(unit));
}

void Operation::move(const Demand& all) {
  if (plan_.collective()) {
    Prepared prepared = begin_collectively(context_, access_, plan_, hints_, all);
    end_collectively(context_, access_, plan_, prepared);
  } else {
    move_independently(context_, access_, plan_, hints_);
  }
  if (!access_.writes() || plan_.buffered || !context_.machine.page_cache) return;
  const std::int64_t calls =
      plan_.method == Method::direct ? access_.file.run_count() : context_.counts.rounds;
  context_.cache_speed->note(all.bytes / std::max(1, context_.machine.nodes),
                             context_.counts.time_storage, calls, CacheSpeed::Clock::now());
}

void Operation::leave(const std::optional<Error>& error) {
  ++context_.counts.synchronisations;
  const Stopwatch leaving(context_.counts.time_wait);
  agree_on_exit(context_.comm, error);
}

void Operation::count_memory() {
  context_.counts.staging_peak = context_.gauge.peak();
  if (plan_.collective() && plan_.exchange == Exchange::node)
    context_.counts.staging_peak += context_.staging.own_bytes(context_.comm.team()->rank());
  context_.counts.allocations += context_.gauge.allocations();
  context_.counts.buffer_peak = context_.background.memory().peak();
}

/// All of this rank's part is one unit, from or into user memory.
void Operation::set_aside() {
  if (access_.file.empty()) return;
  IoUnit unit;
  if (access_.writes()) unit.extent = access_.file.hull();
  unit.owner = &context_;
  unit.operation = number_;
  unit.placement = context_.buffering.placement;
  unit.work = [self = shared_from_this()] {
    const std::optional<Error> error = attempt(
        [&] { move_aside(self->context_, self->access_, self->plan_.method, self->hints_); });
    if (error && self->access_.writes()) throw Error(*error);
    self->error_ = error;
  };
  ticket_ = context_.buffered->submit(std::move(unit));
}

bool Operation::is_copied() {
  return ended_ ||
         (!has_exchange() && (route_ != Route::aside || context_.buffered->is_done(ticket_)));
}

void Operation::await_copied() {
  if (route_ == Route::aside) context_.buffered->wait(ticket_);
}

bool Operation::is_done() {
  if (ended_) return true;
  if (prepared_ && !prepared_->queue->has_read_ahead()) return false;
  return context_.buffered->is_done(ticket_);
}

bool Operation::must_meet() const noexcept {
  if (ended_) return false;
  if (route_ == Route::told_at_end) return error_.has_value() && access_.writes();
  return route_ != Route::now;
}

void Operation::end(bool asked) {
  if (ended_) return;
  context_.counts = {};
  const InCall in(context_.comm, context_.storage.path(), {CallKind::wait, call_});
  // All ranks know of what went wrong at once.
  if (!must_meet()) ended_ = true;
  else if (prepared_) end_exchange(asked);
  else meet_for_end(asked);
  if (error_) throw Error(*error_);
}

/// Throws on every rank what is wrong on one. Those who make another call come here first.
void Operation::enter_end(const std::optional<Error>& error) {
  ++context_.counts.synchronisations;
  const Stopwatch waiting(context_.counts.time_wait);
  agree_on_entry(context_.comm, {no_common, {}, error, call_});
}

/// Ended, too, when it throws what the ranks agree on.
void Operation::meet_for_end(bool asked) {
  const bool moved = route_ == Route::told_at_end;
  if (!moved) await_own_units();
  std::optional<Error> error = moved ? std::nullopt : error_;
  if (access_.writes()) error = context_.buffered->lost(&context_, number_);
  // What is told here is not told again by the next call.
  if (asked && (error || !access_.writes()))
    if (const std::optional<Error>& failure = context_.failure_to_tell()) error = failure;
  const std::optional<Error> agreed = attempt([&] { enter_end(error); });
  ended_ = !agreed || agreed->error_class() != ErrorClass::disagreement;
  if (ended_ && asked) context_.untold.reset();
  if (agreed) throw Error(*agreed);
}

void Operation::end_exchange(bool asked) {
  enter_end(std::nullopt);
  ended_ = true;
  ++context_.calls;  // tags of its own
  context_.gauge.restart();
  context_.buffering = {};
  // Another plan may have been at work since begin().
  if (prepared_->exchange == Exchange::node && !make_room(context_, plan_, false))
    prepared_->exchange = Exchange::sparse;
  await_own_units();
  std::optional<Error> error =
      attempt([&] { end_collectively(context_, access_, plan_, *prepared_); });
  if (!error && asked) error = context_.take_failure();
  count_memory();
  prepared_.reset();
  leave(error);
}

std::optional<Error> Operation::end_alone() {
  ended_ = true;
  return error_;
}

std::optional<Error> Operation::fate() {
  if (ended_) return std::nullopt;
  if (access_.writes()) return error_ ? error_ : context_.buffered->lost(&context_, number_);
  prepared_.reset();  // a handle may outlive the file
  return Error(ErrorClass::state, "the file '" + context_.storage.path() +
                                      "' was let go of before this read had ended: its memory "
                                      "does not hold what was asked for");
}

/// Of this call, and of the writes before it: a read sees them, and their errors.
void Operation::await_own_units() {
  const Stopwatch watch(context_.counts.time_wait);
  context_.buffered->wait(ticket_);
  if (!access_.writes()) context_.buffered->drain(BufferedFile::Which::writes);
}

}  // namespace penstock
