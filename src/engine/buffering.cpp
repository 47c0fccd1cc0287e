#include "engine/buffering.hpp"

#include <algorithm>
#include <limits>

#include <sched.h>

#include "engine/operation.hpp"
#include "engine/window_io.hpp"
#include "mpi/agree.hpp"
#include "pattern/copy.hpp"
#include "pattern/stream_copy.hpp"

namespace penstock {

Placement placement_of(const Hints& hints) {
  constexpr int policies[] = {Placement::gentle, SCHED_OTHER, SCHED_BATCH};
  const IoThread& thread = hints.io_thread;
  return {policies[static_cast<int>(thread.policy)], thread.nice, thread.core};
}

Placement asked_placement_of(const Hints& hints) {
  Placement placement = placement_of(hints);
  if (placement.policy == Placement::gentle) placement.policy = Placement().policy;
  return placement;
}

ActiveBuffer::Memory take_room(Context& context, std::int64_t bytes) {
  ActiveBuffer& active = context.background.memory();
  const std::int64_t budget = context.buffering.budget;
  if (ActiveBuffer::Memory memory = active.try_take(bytes, budget)) return memory;
  context.copying.reset();
  ++context.record.counts.buffer_waits;
  const Timed watch(context.record, Phase::room);
  const BackgroundIo::Expedite expedite(context.background);  // whichever queue holds the memory
  return active.take(bytes, budget);
}

void let_copy(const IoFile& file) {
  constexpr int milliseconds = 20;
  if (file.team == nullptr || !file.page_cache) return;
  for (int i = 0; i < milliseconds && !file.buffered->is_expedited(); ++i)
    if (file.team->await_end_of_copying()) return;
}

void note_unit(const IoFile& file, std::int64_t bytes, double seconds, std::int64_t writers) {
  if (!file.page_cache) return;
  const std::int64_t of_node = std::max<std::int64_t>(1, writers / std::max(1, file.nodes));
  file.cache_speed->note(bytes * of_node, seconds, 1, CacheSpeed::Clock::now());
}

namespace {

/// Whether this rank moves all bytes of `range` that this call transfers.
bool all_mine(const Context& context, const Access& access, const Plan& plan, Extent range) {
  const int me = context.comm.rank();
  // Only for writes by the direct method: in a read, others may want the same bytes.
  if (!plan.collective())
    return access.writes() && access.file.run_count() == 1 &&
           access.file.hull().begin <= range.begin && access.file.hull().end >= range.end;
  if (intersect(range, plan.domains.span()).length() < range.length()) return false;
  for (std::int64_t at = range.begin; at < range.end; at = plan.domains.stretch_end(at))
    if (plan.rank_of(plan.domains.owner(at)) != me) return false;
  return true;
}

/// The pending bytes that this call depends on. For a read that includes bytes behind its own if
/// they extend the file, and bytes of the same pages if clients write whole pages.
Extent touched_by(const Context& context, const Access& access, const Demand& all) {
  Extent range = all.hull();
  const bool may_be_short =
      context.file.shortened || (context.units.open_ended && all.file_end == all.pending().end);
  if (!access.writes() && may_be_short && !range.empty())
    range.end = std::max(range.end, all.pending().end);
  if (const std::int64_t page = context.machine.page; page > 0 && !range.empty())
    range = {range.begin / page * page, (range.end + page - 1) / page * page};
  return intersect(all.pending(), range);
}

/// What is buffered here of the file, as far as it touches `range`.
std::vector<Extent> pending_within(const Context& context, Extent range) {
  std::vector<Extent> touched;
  for (const Extent pending : context.buffered->pending())
    if (!intersect(pending, range).empty()) touched.push_back(intersect(pending, range));
  return touched;
}

}  // namespace

Task<> keep_order(Context& context, const Access& access, const Plan& plan, const Demand& all) {
  // One rank's units are written in order anyway.
  const Extent touched = touched_by(context, access, all);
  if (context.comm.alone() || touched.empty()) co_return;
  bool overtaken = false;
  for (const Extent range : pending_within(context, touched))
    overtaken = overtaken || !all_mine(context, access, plan, range);
  ++context.record.counts.synchronisations;
  if (!co_await any_rank(context.channel, overtaken)) co_return;
  if (overtaken) {
    const BackgroundIo::Expedite expedite(context.background);
    co_await await_units(context, [&] { return context.buffered->is_drained(); });
  }
  ++context.record.counts.synchronisations;
  const std::optional<Error> failure = context.file.take_failure();
  co_await agree_on_exit(context.channel, failure);
}

Task<> await_written(Context& context, const Access& access, const Demand& all) {
  const Extent range = access.writes() ? all.pending() : touched_by(context, access, all);
  if (range.empty()) co_return;
  if (!pending_within(context, range).empty()) {
    const BackgroundIo::Expedite expedite(context.background);
    co_await await_units(context,
                         [&] { return context.buffered->is_drained(BufferedFile::Which::writes); });
  }
  const Timed watch(context.record, Phase::wait);
  ++context.record.counts.synchronisations;
  const std::optional<Error> failure = context.file.take_failure();
  co_await agree_on_exit(context.channel, failure);
}

namespace {

/// Runs of one rank that are written together.
struct DirectUnit {
  explicit DirectUnit(Storage& storage) : accesses(storage) {}

  ActiveBuffer::Memory memory;
  std::byte* begin = nullptr;
  std::int64_t bytes = 0, room = 0;
  Extent hull{std::numeric_limits<std::int64_t>::max(), 0};
  Recorder record;
  std::unique_ptr<RangeLock> lock;
  Submission accesses;  // the runs; their bytes are contiguous in the unit
};

void begin_unit(IoCall& call, DirectUnit& unit, Locks locks) {
  const Timed watch(unit.record, Phase::storage, 0, unit.hull.begin);
  unit.lock = lock_for_writing(call, locks, unit.hull, LockKind::shared);
  unit.accesses.start();
}

void finish_unit(IoCall& call, DirectUnit& unit) {
  {
    const Timed watch(unit.record, Phase::storage, unit.bytes, unit.hull.begin);
    unit.accesses.wait();
  }
  unit.lock.reset();
  check_accesses(call, unit.accesses);
  call.file.counts.add(unit.record.counts);
  note_unit(call.file, unit.bytes, unit.record.counts.time_storage, call.file.ranks);
}

class DirectPacker {
 public:
  DirectPacker(Context& context, const Access& access, const Hints& hints)
      : context_(context),
        access_(access),
        hints_(hints),
        left_(access.file.bytes()),
        past_cache_(left_ >= larger_than_caches),
        most_(std::max(context.units.grain,
                       std::clamp(context.buffering.budget, shortest_unit, longest_unit))) {}

  void pack() {
    for (std::size_t i = 0; i < access_.file.parts().size(); ++i) {
      file_ = &access_.file.parts()[i];
      memory_ = &access_.memory[i];
      for_each(*file_, 0, file_->size(), [&](const Batch& batch) {
        for (std::int64_t k = 0; k < batch.count; ++k)
          add(batch.file + k * batch.file_step, batch.packed + k * batch.run, batch.run);
      });
      // Patterns of one request may overlap, but accesses in flight together may not.
      if (context_.storage.completes_later()) submit();
    }
    submit();
  }

 private:
  static constexpr std::size_t most_runs = 4096;  // bounds the memory of the list

  void add(std::int64_t offset, std::int64_t packed, std::int64_t length) {
    const std::int64_t grain = context_.units.grain;
    while (length > 0) {
      if (unit_ == nullptr) open(offset);
      // Whole grains: where ranks overlap, each grain comes from one rank.
      const std::int64_t part = std::min(length, unit_->room - unit_->bytes) / grain * grain;
      if (part > 0) {
        copy(packed, part);
        unit_->accesses.add(Direction::write,
                            {unit_->begin + unit_->bytes, static_cast<std::size_t>(part)}, offset);
        unit_->hull = {std::min(unit_->hull.begin, offset),
                       std::max(unit_->hull.end, offset + part)};
        unit_->bytes += part;
        offset += part;
        packed += part;
        length -= part;
        left_ -= part;
      }
      if (length > 0 || unit_->accesses.size() == most_runs) submit();
    }
  }

  void open(std::int64_t offset) {
    // End the unit where the next one begins aligned.
    std::int64_t room = most_ - (left_ > most_ ? offset % most_ : 0);
    if (room < context_.units.grain) room = most_;
    room = std::min(room, left_);
    const std::int64_t ahead = lead(offset, room);
    unit_ = std::make_shared<DirectUnit>(context_.storage);
    unit_->memory = take_room(context_, ahead + room);
    unit_->begin = unit_->memory.data() + ahead;
    unit_->room = room;
  }

  void copy(std::int64_t packed, std::int64_t length) {
    const Timed watch(context_.record, Phase::copy, length);
    copy_packed(*file_, *memory_, packed, packed + length, unit_->begin + unit_->bytes,
                Direction::write, past_cache_);
  }

  void submit() {
    if (unit_ == nullptr) return;
    IoUnit unit;
    unit.extent = unit_->hull;
    unit.owner = &context_.file;
    unit.operation = context_.buffering.operation;
    unit.placement = context_.buffering.placement;
    context_.record.counts.bytes_buffered += unit_->bytes;
    const int writers = static_cast<int>(hints_.writers);
    const bool beside = writers == 0 && context_.storage.completes_later();
    if (beside)
      unit.finish = [call = context_.shared_io, mine = unit_] { finish_unit(*call, *mine); };
    unit.work = [call = context_.shared_io, mine = std::move(unit_), locks = hints_.locks, writers,
                 beside] {
      let_copy(call->file);
      const Permit permit(*call, writers);
      begin_unit(*call, *mine, locks);
      if (!beside) finish_unit(*call, *mine);
    };
    unit_ = nullptr;
    context_.buffering.last = context_.buffered->submit(std::move(unit));
  }

  Context& context_;
  const Access& access_;
  const Hints& hints_;
  std::int64_t left_;
  bool past_cache_;
  std::int64_t most_;
  const FilePattern* file_ = nullptr;
  const MemoryMap* memory_ = nullptr;
  std::shared_ptr<DirectUnit> unit_;
};

}  // namespace

/// The file's units may have changed by the time this is carried out.
AsideMove::AsideMove(const Context& outer, const Access& access, Method method, const Hints& hints)
    : context_(outer.file, outer.channel, buffers_,
               std::make_shared<const Region>(Region{{}, outer.units})),
      access_(access),
      method_(method),
      hints_(hints) {}

void AsideMove::carry_out() {
  const std::optional<Error> error = attempt([&] {
    method_ == Method::sieved ? move_sieved(context_, access_, hints_)
                              : move_direct(context_, access_, hints_);
  });
  IoFile& file = context_.io.file;
  file.counts.add(context_.record.counts);
  if (error) throw Error(*error);
  if (access_.writes())
    note_unit(file, access_.file.bytes(), context_.record.counts.time_storage, file.ranks);
}

void AsideMove::carry_out_and_keep() {
  error_ = attempt([&] { carry_out(); });
  if (error_ && access_.writes()) throw Error(*error_);
}

namespace {

/// In order with queued writes, but without a copy: the calling thread waits.
void write_through(Context& context, const Access& access, const Hints& hints) {
  ++context.record.counts.buffer_waits;
  context.copying.reset();
  const Timed watch(context.record, Phase::room);
  IoUnit unit;
  unit.extent = access.file.hull();
  unit.owner = &context.file;
  unit.operation = context.buffering.operation;
  unit.placement = context.buffering.placement;
  AsideMove aside(context, access, Method::direct, hints);
  unit.work = [&] { aside.carry_out(); };
  context.buffered->wait(context.buffered->submit(std::move(unit)));
}

}  // namespace

void buffer_directly(Context& context, const Access& access, const Hints& hints) {
  if (access.file.empty()) return;
  // Writing to the page cache is itself a copy: if there is not room for all bytes, copying them
  // first only adds cost.
  if (context.buffering.cached &&
      !context.background.memory().has_room(access.file.bytes(), context.buffering.budget))
    return write_through(context, access, hints);
  DirectPacker(context, access, hints).pack();
}

}  // namespace penstock
