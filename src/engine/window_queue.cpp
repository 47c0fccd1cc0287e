#include <algorithm>
#include <utility>

#include "engine/domain_table.hpp"

namespace penstock {
namespace {
/// Windows smaller than this take storage less time than waking a thread takes.
constexpr std::int64_t worth_a_thread = 256 * 1024;
}  // namespace

WindowQueue::WindowQueue(Context& context, const Plan& plan, const Hints& hints,
                         Direction direction, bool background)
    : context_(context),
      hints_(hints),
      aggregator_(plan.aggregator_of(context.comm.rank())),
      aggregators_(plan.domains.aggregators()),
      unit_bytes_(plan.domains.buffer() + lead_room(plan.domains.buffer())),
      writers_(plan.writers),
      reads_(direction == Direction::read),
      background_(background && (hints.pipeline == Pipeline::always ||
                                 (hints.pipeline == Pipeline::automatic && plan.depth > 1 &&
                                  plan.domains.buffer() >= worth_a_thread))),
      buffered_(plan.buffered && !reads_),
      reads_together_(reads_ && background_ && writers_ == 0 && context.storage.completes_later()) {
  for (int i = 0; i < plan.depth && !buffered_; ++i)
    windows_.push_back(std::make_unique<Window>(context, hints, direction, StagingMemory::pool,
                                                /*exclusive=*/false, &sieve_));
}

WindowQueue::~WindowQueue() {
  // What threads are still reading into must stay.
  for (const auto& window : windows_)
    if (window->ticket != 0) context_.file.queue_of_calls->wait(window->ticket);
  for (const auto& window : ahead_) context_.buffered->wait(window->ticket);
  for (const auto& window : open_) context_.buffered->wait(window->ticket);
  context_.pool.give(BufferPool::Use::sieve, std::move(sieve_));
}

void WindowQueue::lie_in(NodeStaging& staging, int owner) noexcept {
  staging_ = &staging;
  owner_ = owner;
}

/// The window object that is used next, once it is free. At most `depth` are in use.
Window& WindowQueue::next() {
  Window& window = *windows_[turn_];
  turn_ = (turn_ + 1) % windows_.size();
  finish(window);
  window.round = -1;
  return window;
}

std::shared_ptr<Window> WindowQueue::loose(StagingMemory memory) {
  return std::make_shared<Window>(context_, hints_, reads_ ? Direction::read : Direction::write,
                                  memory);
}

Window& WindowQueue::open(DomainTable& table, std::byte* address) {
  if (!ahead_.empty()) {
    open_.push_back(std::move(ahead_.front()));
    ahead_.pop_front();
    return *open_.back();
  }
  if (buffered_) {
    open_.push_back(loose(StagingMemory::active_buffer));
    table.open(*open_.back());
    return *open_.back();
  }
  if (address == nullptr && staging_ != nullptr)
    address = staging_->bytes(owner_, static_cast<int>(turn_));
  Window& window = next();
  table.open(window, address);
  if (reads_) start_fill(window);
  return window;
}

bool WindowQueue::must_wait() {
  if (!buffered_ || context_.background.memory().has_room(unit_bytes_, context_.buffering.budget))
    return false;
  context_.buffering.copying.reset();
  return true;
}

void WindowQueue::read_ahead(DomainTable& table, std::int64_t budget) {
  ActiveBuffer& active = context_.background.memory();
  while (!table.finished() && active.has_room(unit_bytes_, budget)) {
    ahead_.push_back(loose(StagingMemory::active_buffer));
    table.open(*ahead_.back());
    start_fill_in_io_thread(*ahead_.back());
  }
}

bool WindowQueue::has_read_ahead() {
  return ahead_.empty() || context_.buffered->is_done(ahead_.back()->ticket);
}

void WindowQueue::start_fill_in_io_thread(Window& window) {
  window.in_io_thread = true;
  IoUnit unit;
  unit.placement = context_.buffering.placement;
  const bool beside = writers_ == 0 && window.io.goes_beside_others();
  const auto finish = [this, &window] {
    if (!window.error) window.error = attempt([&] { window.io.finish(); });
    context_.file.background_counts.add(window.io.own_counts());
  };
  if (beside) unit.finish = finish;
  unit.work = [this, &window, beside, finish] {
    const Permit permit(context_, writers_);
    window.error = attempt([&] { window.io.begin_fill(); });
    if (!beside) finish();
  };
  window.ticket = context_.buffered->submit(std::move(unit));
}

void WindowQueue::start(Window& window, bool fill) {
  if (error_) return;
  if (reads_together_) {
    window.error = attempt([&] { window.io.begin_fill(); });
    window.under_way = true;
    return;
  }
  const bool beside = background_ && writers_ == 0 && window.io.goes_beside_others();
  // Also after a failure: what has begun must end, and its lock be given back.
  const auto finish = [this, &window] {
    const std::optional<Error> error = attempt([&] { window.io.finish(); });
    if (!window.error) window.error = error;
    if (window.error) failed_ = true;
  };
  const auto work = [this, &window, fill, beside] {
    if (failed_) return;
    window.error = attempt([&] {
      if (!fill) stagger();
      const Permit permit(context_, background_ ? writers_ : 0);
      fill ? window.io.begin_fill() : window.io.begin_flush();
      if (!beside) window.io.finish();
    });
    if (window.error) failed_ = true;
  };
  if (!background_) return work();
  IoUnit unit;
  unit.placement = asked_placement_of(hints_);
  unit.work = work;
  if (beside) unit.finish = finish;
  window.ticket = context_.file.queue_of_calls->submit(std::move(unit));
}

void WindowQueue::start_flush(Window& window) {
  if (!buffered_) return start(window, false);
  const auto mine = std::find_if(open_.begin(), open_.end(),
                                 [&](const auto& candidate) { return candidate.get() == &window; });
  const std::chrono::microseconds delay(staggered_ ? 0 : hints_.stagger * aggregator_);
  staggered_ = true;
  hand_over(context_, std::move(*mine), writers_, aggregators_, delay);
  open_.erase(mine);
}

/// Dickens & Thakur, section 4.1.1: with many writers, small delays that keep them apart raised
/// the bandwidth of one file system by half.
void WindowQueue::stagger() {
  if (staggered_ || hints_.stagger == 0) return;
  staggered_ = true;
  std::this_thread::sleep_for(std::chrono::microseconds(hints_.stagger * aggregator_));
}

bool WindowQueue::is_done(Window& window) {
  if (window.under_way) return window.io.is_done();
  if (window.in_io_thread) return context_.buffered->is_done(window.ticket);
  return context_.file.queue_of_calls->is_done(window.ticket);
}

void WindowQueue::finish(Window& window) {
  if (std::exchange(window.under_way, false)) {
    const std::optional<Error> error = attempt([&] { window.io.finish(); });
    if (!window.error) window.error = error;
  }
  if (window.ticket != 0) {
    const Timed watch(context_.record, Phase::wait);
    if (window.in_io_thread) context_.buffered->wait(window.ticket);
    else context_.file.queue_of_calls->wait(window.ticket);
    window.ticket = 0;
  }
  if (window.error && !error_) error_ = window.error;
  window.error.reset();
  if (error_ && reads_ && window.round >= 0) window.io.clear();
}

void WindowQueue::finish_all() {
  for (const auto& window : windows_) finish(*window);
}

void hand_over(Context& context, std::shared_ptr<Window> window, int writers, std::int64_t owners,
               std::chrono::microseconds delay) {
  window->streams.clear();  // they refer to the call's tables
  const std::int64_t unit_bytes = window->io.wanted();
  IoUnit unit;
  unit.extent = context.units.whole_around(window->io.trimmed());
  unit.owner = &context.file;
  unit.operation = context.buffering.operation;
  unit.placement = context.buffering.placement;
  const auto finish = [mine = context.shared_from_this(), window, owners, unit_bytes] {
    Context& context = *mine;
    window->io.finish();
    context.file.background_counts.add(window->io.own_counts());
    note_unit(context, unit_bytes, window->io.own_counts().time_storage, owners);
  };
  const bool beside = writers == 0 && window->io.goes_beside_others();
  if (beside) unit.finish = finish;
  unit.work = [mine = context.shared_from_this(), window = std::move(window), writers, delay,
               beside, finish] {
    Context& context = *mine;
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    let_copy(context);
    const Permit permit(context, writers);
    window->io.begin_flush();
    if (!beside) finish();
  };
  context.record.counts.bytes_buffered += unit_bytes;
  context.buffering.last = context.buffered->submit(std::move(unit));
}

}  // namespace penstock
