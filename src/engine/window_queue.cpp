#include "engine/window_queue.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace penstock {
namespace {
/// Smaller windows take storage less time than waking a thread.
constexpr std::int64_t worth_a_thread = 256 * 1024;

void sleep_for(std::chrono::microseconds delay) {
  if (delay.count() > 0) std::this_thread::sleep_for(delay);
}
}  // namespace

WindowQueue::By WindowQueue::choose(const Context& context, const Plan& plan, const Hints& hints,
                                    bool reads, bool background) {
  if (plan.buffered && !reads) return By::io_thread;
  const bool pays = hints.pipeline == Pipeline::always ||
                    (hints.pipeline == Pipeline::automatic && plan.depth > 1 &&
                     plan.domains.buffer() >= worth_a_thread);
  if (!background || !pays) return By::caller;
  return reads && plan.writers == 0 && context.storage.completes_later() ? By::storage
                                                                         : By::call_thread;
}

WindowQueue::WindowQueue(Context& context, const Plan& plan, const Hints& hints,
                         Direction direction, bool background)
    : context_(context),
      hints_(hints),
      aggregator_(plan.aggregator_of(context.comm.rank())),
      aggregators_(plan.domains.aggregators()),
      unit_bytes_(plan.domains.buffer() + lead_room(plan.domains.buffer())),
      writers_(plan.writers),
      reads_(direction == Direction::read),
      by_(choose(context, plan, hints, reads_, background)) {
  for (int i = 0; i < plan.depth && !buffered(); ++i)
    windows_.push_back(std::make_unique<Window>(make_memory(StagingMemory::pool)));
}

/// Waits for windows that are lent.
WindowQueue::~WindowQueue() {
  windows_.clear();
  ahead_.clear();
  open_.clear();
  context_.pool.give(BufferPool::Use::sieve, std::move(sieve_));
}

void WindowQueue::lie_in(NodeStaging& staging, int owner) noexcept {
  staging_ = &staging;
  owner_ = owner;
}

std::unique_ptr<WindowIo> WindowQueue::make_memory(StagingMemory memory) {
  Buffer* const sieve = memory == StagingMemory::pool ? &sieve_ : nullptr;
  return std::make_unique<WindowIo>(context_, hints_, reads_ ? Direction::read : Direction::write,
                                    /*exclusive=*/false, memory, sieve);
}

/// The window object to use next, once it is free. At most `depth` are in use.
Window& WindowQueue::next() {
  Window& window = *windows_[turn_];
  turn_ = (turn_ + 1) % windows_.size();
  finish(window);
  return window;
}

Window& WindowQueue::open_in_active_buffer(DomainTable& table) {
  auto window = std::make_unique<Window>(make_memory(StagingMemory::active_buffer));
  table.open(context_, *window);
  auto& windows =
      reads_ ? ahead_.emplace_back(std::move(window)) : open_.emplace_back(std::move(window));
  return *windows;
}

Window& WindowQueue::open(DomainTable& table, std::byte* address) {
  if (!ahead_.empty()) {
    open_.push_back(std::move(ahead_.front()));
    ahead_.pop_front();
    return *open_.back();
  }
  if (buffered()) return open_in_active_buffer(table);
  if (address == nullptr && staging_ != nullptr)
    address = staging_->bytes(owner_, static_cast<int>(turn_));
  Window& window = next();
  table.open(context_, window, address);
  if (reads_) start(window, /*fills=*/true);
  return window;
}

bool WindowQueue::must_wait() {
  if (!buffered() || context_.background.memory().has_room(unit_bytes_, context_.buffering.budget))
    return false;
  context_.copying.reset();
  return true;
}

void WindowQueue::read_ahead(DomainTable& table, std::int64_t budget) {
  ActiveBuffer& active = context_.background.memory();
  while (!table.finished() && active.has_room(unit_bytes_, budget))
    fill_ahead(open_in_active_buffer(table));
}

/// If storage completes later, several windows are in flight.
bool WindowQueue::goes_beside_others(Window& window) {
  return writers_ == 0 && window.io().goes_beside_others();
}

void WindowQueue::fill_ahead(Window& window) {
  const bool beside = goes_beside_others(window);
  window.lend(context_.buffered->queue(), /*fills=*/true,
              [&](const std::shared_ptr<StorageJob>& job) {
                IoUnit unit;
                unit.placement = context_.buffering.placement;
                const auto finish = [&file = context_.io.file, job] {
                  job->end();
                  file.counts.add(job->io->take_counts());
                };
                if (beside) unit.finish = finish;
                unit.work = [&call = context_.io, writers = writers_, job, beside, finish] {
                  const Permit permit(call, writers);
                  job->begin();
                  if (!beside) finish();
                };
                return context_.buffered->submit(std::move(unit));
              });
}

void WindowQueue::lend_to_call_thread(Window& window, bool fills) {
  const bool beside = goes_beside_others(window);
  const std::chrono::microseconds delay = fills ? std::chrono::microseconds(0) : take_delay();
  IoQueue& queue = *context_.file.queue_of_calls;
  window.lend(queue, fills, [&](const std::shared_ptr<StorageJob>& job) {
    IoUnit unit;
    unit.placement = asked_placement_of(hints_);
    const auto finish = [&failed = failed_, job] {
      job->end();
      if (job->error) failed = true;
    };
    if (beside) unit.finish = finish;
    unit.work = [&call = context_.io, &failed = failed_, writers = writers_, job, delay, beside,
                 finish] {
      if (failed) return;
      sleep_for(delay);
      const Permit permit(call, writers);
      job->begin();
      if (job->error) failed = true;
      if (!beside) finish();
    };
    return queue.submit(std::move(unit));
  });
}

void WindowQueue::start(Window& window, bool fills) {
  if (error_) {
    if (fills) window.io().clear();
  } else if (by_ == By::call_thread) {
    lend_to_call_thread(window, fills);
  } else {
    if (!fills) sleep_for(take_delay());
    window.start(fills).begin();
    if (by_ == By::caller) finish(window);
  }
}

void WindowQueue::start_flush(Window& window) {
  if (!buffered()) return start(window, /*fills=*/false);
  hand_over(context_, window.give_away(), writers_, aggregators_, take_delay());
  std::erase_if(open_, [&](const auto& candidate) { return candidate.get() == &window; });
}

/// Dickens & Thakur, section 4.1.1: with many writers, small delays that keep them apart raised
/// the bandwidth of one file system by half.
std::chrono::microseconds WindowQueue::take_delay() {
  return std::chrono::microseconds(std::exchange(delayed_, true) ? 0
                                                                 : hints_.stagger * aggregator_);
}

void WindowQueue::finish(Window& window) {
  if (!window.is_at_storage()) return;
  std::optional<Timed> watch;
  const bool lent = window.is_lent();
  if (lent) watch.emplace(context_.record, Phase::wait);
  StorageJob job = window.take_job();
  watch.reset();
  const Statistics counts = job.io->take_counts();
  context_.record.counts += counts;
  if (!lent) context_.record.parts.storage += counts.time_storage;
  if (job.error && !error_) error_ = std::move(job.error);
  if (error_ && job.fills) job.io->clear();
  window.settle(std::move(job));
}

void WindowQueue::finish_all() {
  for (const auto& window : windows_) finish(*window);
}

void hand_over(Context& context, std::unique_ptr<WindowIo> filled, int writers, std::int64_t owners,
               std::chrono::microseconds delay) {
  std::shared_ptr<WindowIo> io = std::move(filled);
  const std::int64_t unit_bytes = io->wanted();
  IoUnit unit;
  unit.extent = context.units.whole_around(io->trimmed());
  unit.owner = &context.file;
  unit.operation = context.buffering.operation;
  unit.placement = context.buffering.placement;
  const auto finish = [call = context.shared_io, io, owners, unit_bytes] {
    io->finish();
    note_unit(call->file, unit_bytes, io->counts().time_storage, owners);
    call->file.counts.add(io->take_counts());
  };
  const bool beside = writers == 0 && io->goes_beside_others();
  if (beside) unit.finish = finish;
  unit.work = [call = context.shared_io, io = std::move(io), writers, delay, beside, finish] {
    sleep_for(delay);
    let_copy(call->file);
    const Permit permit(*call, writers);
    io->begin_flush();
    if (!beside) finish();
  };
  context.record.counts.bytes_buffered += unit_bytes;
  context.buffering.last = context.buffered->submit(std::move(unit));
}

}  // namespace penstock
