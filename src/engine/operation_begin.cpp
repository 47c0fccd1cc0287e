// The beginning of an operation: locate the request, agree, plan and route.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/human.hpp"
#include "base/memory_limit.hpp"
#include "engine/buffering.hpp"
#include "engine/operation.hpp"
#include "engine/window_io.hpp"
#include "mpi/agree.hpp"
#include "mpi/thread_use.hpp"
#include "plan/cost.hpp"
#include "plan/memory.hpp"

namespace penstock {
namespace {

/// What all ranks must pass alike. Rendered again only if the hints have changed.
const std::vector<Common>& common_values(OpenFile& file, const Hints& hints, const Region* region) {
  const std::string& name = region != nullptr ? region->name : std::string();
  if (file.common.empty() || !(file.common_hints == hints) || file.common_region != name) {
    file.common.clear();
    for (const auto& [name, value] : hints.text())
      if (must_be_common(name) && name != "locks") file.common.push_back({name, value});
    if (region != nullptr) file.common.push_back({"field", "'" + name + "'"});
    file.common_hints = hints;
    file.common_region = name;
  }
  return file.common;
}

/// Copies this rank's descriptor, if short enough, into shared memory for the ranks of its node.
/// Returns its number of words; 0 if the node has no shared memory.
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

}  // namespace

void Access::clip(std::int64_t end) {
  if (file.hull().end <= end) return;
  std::vector<FilePattern> parts;
  std::vector<MemoryMap> maps;
  for (std::size_t i = 0; i < file.parts().size(); ++i) {
    FilePattern part = file.parts()[i].within({0, end});
    if (part.empty()) continue;
    parts.push_back(std::move(part));
    maps.push_back(std::move(memory[i]));
  }
  file = Footprint(std::move(parts));
  memory = std::move(maps);
}

Task<Demand> enter(OpenFile& file, const Channel& channel, const Entry& entry) {
  try {
    co_return co_await agree_on_entry(channel, entry);
  } catch (const Error& error) {
    if (error.error_class() != ErrorClass::disagreement) file.unreported.reset();
    throw;
  }
}

Task<> Operation::begin() {
  // Meeting slots and tags are reused.
  co_await until(Expect::meeting, [&] {
    return file_.beginnings.is_turn_of(call()) && file_.ends.first() > call() - Team::slots;
  });
  if (!can_queue_up())
    co_await until(Expect::meeting, [&] { return file_.exchanges.is_turn_of(call()); });
  std::optional<Timed> watch(std::in_place, context_.record, Phase::plan);
  prepare_buffering();
  co_await await_units(context_, [this] { return can_overtake_nothing(); });
  Demand demand;
  const std::optional<Error> error = locate(demand);
  const Entry entry{common_values(file_, hints_, access_.region.get()), demand, error};
  Demand all = co_await enter(file_, context_.channel, entry);
  if (!all.any_winner) access_.overlap = Overlap::highest_rank;
  if (access_.writes()) context_.buffering.operation = number_ = ++file_.writes;
  context_.record.counts.synchronisations += 1;
  if (context_.units.open_ended && !access_.writes()) {
    all.clip(all.file_end);
    access_.clip(all.file_end);
  }
  context_.buffering.cached = !all.slow;
  context_.buffering.budget = choose_budget(asked_, all, context_.machine);
  if (access_.writes()) hints_.active_buffer_size = context_.buffering.budget;
  decide(all);
  // The exchange of a read ahead comes later; other calls may use the memory until then.
  if (plan_.collective() && plan_.exchange == Exchange::node && route_ != Route::ahead)
    co_await take_room_in_node(all);
  co_await leave_messages_to_the_program(all);
  watch.reset();
  if (route_ != Route::ahead)
    co_await until(Expect::meeting, [&] { return file_.exchanges.is_turn_of(call()); });
  if (!all.pending().empty()) co_await order_after_pending(all);
  context_.record.counts.bytes_wanted = access_.file.bytes();
  co_await start(all);
}

/// Planned as if this rank were alone; waits for what this rank itself has pending.
Task<> Operation::begin_alone() {
  prepare_buffering();
  co_await await_units(context_, [this] { return can_overtake_nothing(); });
  Demand demand;
  const std::optional<Error> error = locate(demand);
  if (error) {
    file_.unreported.reset();
    throw Error(*error);
  }
  if (access_.writes()) context_.buffering.operation = number_ = ++file_.writes;
  Machine machine = context_.machine;
  machine.ranks = machine.writers = machine.nodes = 1;
  machine.shared_memory = false;
  context_.buffering.cached = !demand.slow;
  context_.buffering.budget = choose_budget(asked_, demand, machine);
  hints_.method = sieves(demand) ? Method::sieved : Method::direct;
  hints_.aggregators = 0;
  if (access_.writes()) hints_.active_buffer_size = context_.buffering.budget;
  plan_ = make_plan(context_.units, demand, hints_, machine, access_.writes());
  context_.sieving = plan_.sieving;
  route_ = choose_route(asked_, demand, plan_);
  co_await await_what_it_could_miss();
  const std::unique_ptr<RangeLock> lock = lock_whole();
  if (context_.units.open_ended && !access_.writes()) access_.clip(checked_size(context_.storage));
  context_.record.counts.bytes_wanted = access_.file.bytes();
  co_await start(demand);
}

/// Writes this rank's own buffered bytes before it reads, and before the calling thread overwrites
/// them: the I/O thread would write the older bytes afterwards. Also waits for pending writes to
/// the same bytes by other ranks of its node, through any handle. Ranks of other nodes cannot be
/// asked.
Task<> Operation::await_what_it_could_miss() {
  if (access_.file.empty()) co_return;
  const auto is_written = [&] {
    return context_.buffered->is_drained(BufferedFile::Which::writes);
  };
  const Extent wanted = access_.file.hull();
  const bool could_miss =
      !access_.writes() ||
      (!uses_io_thread(route_) && !intersect(context_.buffered->pending_hull(), wanted).empty());
  if (could_miss && !is_written()) {
    const BackgroundIo::Expedite expedite(context_.background);
    co_await await_units(context_, is_written);
  }
  if (access_.writes())
    if (const std::optional<Error> failure = file_.take_failure()) throw Error(*failure);
  const auto is_apart = [&] { return !context_.buffered->is_pending_elsewhere(wanted); };
  if (is_apart()) co_return;
  const Timed watch(context_.record, Phase::wait);
  // I/O threads of other processes do not wake this rank.
  co_await until(Expect::meeting_by_messages, is_apart);
}

/// For an atomic access, until it has moved its bytes.
std::unique_ptr<RangeLock> Operation::lock_whole() {
  if (!access_.atomic || access_.file.empty()) return nullptr;
  const LockKind kind = access_.writes() ? LockKind::exclusive : LockKind::shared;
  std::unique_ptr<RangeLock> lock =
      lock_for_writing(context_.io, Locks::automatic, access_.file.hull(), kind);
  if (lock == nullptr)
    throw Error("atomic access to '" + context_.storage.path() +
                    "' needs byte-range locks, which its file system does not have",
                context_.storage.path(), access_.file.hull().begin, ENOLCK);
  hints_.locks = Locks::never;  // locked already
  return lock;
}

/// For an independent operation.
bool Operation::sieves(const Demand& demand) const {
  if (hints_.method == Method::sieved || hints_.method == Method::direct)
    return hints_.method == Method::sieved;
  if (!access_.writes() && mapping_pays(demand, context_.machine)) return false;
  return choose_sieving(context_.machine, 1)
      .pays(demand.hull().length(), demand.bytes, demand.runs, access_.writes());
}

void Operation::prepare_buffering() {
  // Buffers sized for other settings are not kept: staging memory is bounded by this call's.
  if (!(hints_ == file_.common_hints)) context_.pool.clear();
  context_.gauge.restart();
  ActiveBuffer& active = context_.background.memory();
  context_.buffering.placement = placement_of(hints_);
  context_.buffering.budget = asked_.budget();
  // A call that needs no buffer does not ask for less memory.
  if (access_.writes() && asked_.background != Background::none) {
    if (file_.last_budget > hints_.active_buffer_size) active.trim(hints_.active_buffer_size);
    file_.last_budget = hints_.active_buffer_size;
  }
}

/// Whether this rank has no pending units of the file that another rank could overtake: for an
/// unbuffered write any unit, for a buffered one only reads. After the agreement that follows, this
/// holds on all ranks.
bool Operation::can_overtake_nothing() const {
  if (!access_.writes()) return true;
  const auto which =
      context_.buffering.budget == 0 ? BufferedFile::Which::all : BufferedFile::Which::reads;
  return context_.buffered->is_drained(which);
}

std::optional<Error> Operation::locate(Demand& demand) {
  context_.background.memory().restart_peak();
  // Read this before looking for failures: a unit that fails in between is then known to be
  // pending.
  const Extent pending = context_.buffered->pending_hull();
  std::optional<Error> error = early_;
  if (!error) error = file_.unreported_failure();
  if (!error)
    error = attempt([&] {
      check_hints(hints_, context_.units.grain, context_.machine.ranks);
      demand = Demand::of(access_.file, context_.units);
      if (company_ == Company::collective) demand.words = publish_descriptor(context_, access_);
      demand.any_winner = access_.overlap == Overlap::unspecified;
      demand.slow = is_slow();
      if (context_.units.open_ended && !access_.writes())
        demand.file_end = checked_size(context_.storage);
      demand.room = room_in_buffer();
      if (company_ == Company::collective && !context_.comm.alone()) look_for_memory(demand);
    });
  if (error) demand = {};
  if (!pending.empty()) {
    demand.pending_begin = pending.begin;
    demand.pending_end = pending.end;
    demand.file_end = std::max(demand.file_end, pending.end);
  }
  return error;
}

/// Another call may have filled more of it than this call's budget.
std::int64_t Operation::room_in_buffer() const {
  ActiveBuffer& active = context_.background.memory();
  if (context_.buffering.budget > 0 && !active.open_arena()) return Demand::no_buffer;
  return context_.buffering.budget - active.in_use();
}

/// Before the plan is known: all ranks check together whether it is enough, see check_memory().
void Operation::look_for_memory(Demand& demand) const {
  // No plan needs more, apart from the longest descriptors.
  const std::int64_t most = 8 * hints_.buffer_size + (std::int64_t{64} << 20);
  const std::int64_t memory = obtainable_memory(most);
  if (memory == no_memory_limit) return;
  demand.memory = memory + context_.gauge.held();
  demand.memory_at = context_.comm.rank();
}

/// For less, looking into the page cache does not pay.
bool Operation::could_be_mapped() const {
  constexpr std::int64_t least = 64 * 1024, least_of_one_run = 256 * 1024;
  return context_.machine.costs.maps_files &&
         access_.file.bytes() >= (access_.file.run_count() > 1 ? least : least_of_one_run);
}

/// Whether this rank's access would wait for a device: it bypasses the page cache, the kernel makes
/// writers wait, or some of the bytes to read are not in the page cache.
bool Operation::is_slow() const {
  constexpr std::int64_t samples = 8;
  if (!context_.machine.page_cache) return true;
  if (access_.writes()) return file_.io.cache_speed->is_slow(CacheSpeed::Clock::now());
  if (access_.file.empty()) return false;
  if (!asked_.leaves_storage() && !could_be_mapped()) return false;
  const Extent hull = access_.file.hull();
  for (std::int64_t i = 0; i <= samples; ++i) {
    const std::int64_t at = access_.file.next(hull.begin + (hull.length() - 1) / samples * i);
    if (!context_.storage.is_cached(std::min(at, hull.end - 1))) return true;
  }
  return false;
}

/// The plan and the route: the same on every rank.
void Operation::decide(const Demand& all) {
  const bool ahead = can_queue_up() && !context_.machine.page_cache;
  plan_ = make_plan(context_.units, all, hints_, context_.machine, access_.writes(), ahead);
  context_.sieving = plan_.sieving;
  route_ = choose_route(asked_, all, plan_);
  check_memory(all);
}

/// For the node exchange. If there is no memory for it, another plan is made.
Task<> Operation::take_room_in_node(const Demand& all) {
  co_await until(Expect::meeting, [&] { return file_.exchanges.is_turn_of(call()); });
  if (!co_await make_room(context_, plan_, uses_io_thread(route_))) decide(all);
}

/// An exchange cannot be undone halfway: others wait for this rank's bytes. So if some rank may
/// lack the memory for it, all of them throw before it begins.
void Operation::check_memory(const Demand& all) const {
  if (all.memory_at < 0 || !plan_.collective()) return;
  const std::int64_t needed =
      exchange_memory(plan_, all, hints_.buffer_size) + new_room(context_, plan_);
  if (needed <= all.memory) return;
  throw Error("no memory to exchange bytes for '" + context_.storage.path() + "': rank " +
                  std::to_string(all.memory_at) + " can get " + text_of_bytes(all.memory) +
                  " more, and up to " + text_of_bytes(needed) +
                  " may be needed; a smaller buffer_size than " +
                  text_of_bytes(hints_.buffer_size) + ", or a higher limit (ulimit -v), helps",
              context_.storage.path(), -1, ENOMEM);
}

/// Within a node, ranks meet and exchange in shared memory, except for long descriptors.
Task<> Operation::leave_messages_to_the_program(const Demand& all) {
  const bool in_memory = context_.machine.nodes == 1 && plan_.exchange == Exchange::node &&
                         all.words <= Team::descriptor_words;
  uses_messages_ = plan_.collective() && !in_memory;
  if (uses_messages_) co_await until(Expect::meeting, [] { return !WithoutMpi::here(); });
}

/// Pending units of earlier writes are written first if this call could overtake or miss them.
Task<> Operation::order_after_pending(const Demand& all) {
  return uses_io_thread(route_) ? keep_order(context_, access_, plan_, all)
                                : await_written(context_, access_, all);
}

}  // namespace penstock
