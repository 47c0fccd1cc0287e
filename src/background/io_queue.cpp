#include "background/io_queue.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "background/blocked_signals.hpp"
#include "base/tally.hpp"

namespace penstock {
namespace {

std::optional<Error> error_of(const std::function<void()>& work) {
  try {
    work();
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return Error(ErrorClass::internal, std::string("in the I/O thread: ") + error.what());
  }
}

}  // namespace

/// False if no thread can be started.
bool IoQueue::start() {
  if (running_) return true;
  stop_ = false;
  if (thread_.joinable()) thread_.join();  // it has left its loop and released the lock
  const BlockedSignals blocked;
  try {
    thread_ = std::thread([this] { run(); });
    running_ = true;
  } catch (const std::exception&) {  // too many threads, or no memory
    running_ = false;
  }
  return running_;
}

IoTicket IoQueue::submit(UnitRecord& file, IoUnit unit) {
  std::unique_lock guard(mutex_);
  const bool started = start();
  if (!is_of_calls()) memory_.unit_queued();
  const IoTicket ticket = ++submitted_;
  file.queued(ticket, unit);
  entries_.push_back({.file = &file, .unit = std::move(unit)});
  if (started) has_work_.notify_one();
  else run_here(guard);
  return ticket;
}

/// If no thread can be started, the submitting thread carries the units out, including those that
/// others submit meanwhile. An exception would leave the ranks in the middle of an exchange.
void IoQueue::run_here(std::unique_lock<std::mutex>& guard) {
  running_ = true;
  const bool before = std::exchange(in_background, !is_of_calls());
  while (!entries_.empty() || !under_way_.empty()) step(guard);
  in_background = before;
  running_ = false;
  done_.notify_all();
}

bool IoQueue::may_begin() const noexcept {
  if (entries_.empty()) return false;
  return !is_throttleable() || throttling_.throttles == 0 || throttling_.expedites > 0 ||
         awaited_ > 0;
}

void IoQueue::run() {
  in_background = !is_of_calls();
  std::unique_lock guard(mutex_);
  for (;;) {
    if (under_way_.empty()) {
      const bool ready = has_work_.wait_for(guard, idle_, [&] { return stop_ || may_begin(); });
      if (entries_.empty()) break;
      if (!ready) continue;  // throttled
    }
    step(guard);
  }
  running_ = false;
  done_.notify_all();
}

void IoQueue::step(std::unique_lock<std::mutex>& guard) {
  under_way_.empty() || next_joins() ? begin_next(guard) : end_oldest(guard);
}

bool IoQueue::next_joins() const {
  if (!may_begin()) return false;
  const QueuedUnit& next = entries_.front();
  return std::ranges::all_of(under_way_, [&](const QueuedUnit& entry) {
    return entry.file == next.file && next.unit.goes_beside(entry.unit);
  });
}

void IoQueue::begin_next(std::unique_lock<std::mutex>& guard) {
  QueuedUnit entry = std::move(entries_.front());
  entries_.pop_front();
  IoUnit& unit = entry.unit;
  entry.dropped = unit.writes() && entry.file->failed();
  const bool own_thread = std::this_thread::get_id() == thread_.get_id();
  guard.unlock();
  if (!entry.dropped) {
    if (own_thread) place_thread(unit.placement);
    entry.error = error_of(unit.work);
  }
  guard.lock();
  under_way_.push_back(std::move(entry));
}

void IoQueue::end_oldest(std::unique_lock<std::mutex>& guard) {
  QueuedUnit entry = std::move(under_way_.front());
  under_way_.pop_front();
  IoUnit& unit = entry.unit;
  guard.unlock();
  if (unit.finish && !entry.dropped && !entry.error) entry.error = error_of(unit.finish);
  unit.work = unit.finish = nullptr;  // release the unit's memory
  guard.lock();
  entry.file->ended(unit, entry.dropped, std::move(entry.error));
  if (!is_of_calls()) memory_.unit_ended();
  ++finished_;  // the file may be gone from here on
  done_.notify_all();
}

template <class Over>
void IoQueue::await(Over&& over) {
  std::unique_lock guard(mutex_);
  if (over()) return;
  ++awaited_;
  if (is_throttleable()) has_work_.notify_one();
  done_.wait(guard, over);
  --awaited_;
}

bool IoQueue::is_done(IoTicket ticket) {
  const std::lock_guard guard(mutex_);
  return finished_ >= ticket;
}

void IoQueue::wait(IoTicket ticket) {
  await([&] { return finished_ >= ticket; });
}

void IoQueue::drain(const UnitRecord& file, UnitRecord::Which which) {
  await([&] { return file.is_over(which, finished_); });
}

bool IoQueue::is_drained(const UnitRecord& file, UnitRecord::Which which) {
  const std::lock_guard guard(mutex_);
  return file.is_over(which, finished_);
}

bool IoQueue::is_expedited() {
  const std::lock_guard guard(mutex_);
  return awaited_ > 0 || stop_ || throttling_.expedites > 0;
}

void IoQueue::wake() {
  const std::lock_guard guard(mutex_);
  if (may_begin()) has_work_.notify_one();
}

void IoQueue::stop() {
  const std::lock_guard guard(mutex_);
  stop_ = true;
  has_work_.notify_one();
}

void IoQueue::finish() noexcept {
  stop();
  std::unique_lock guard(mutex_);
  done_.wait(guard, [&] { return !running_; });
  if (thread_.joinable()) thread_.join();
}

bool IoQueue::has_thread() {
  const std::lock_guard guard(mutex_);
  return running_;
}

/// In a forked child. Entries are leaked, not destroyed: that would release memory, locks and files
/// that the parent still uses.
void IoQueue::forget() {
  // They count the parent's waiting threads: a notification could go to one of these.
  new (&has_work_) std::condition_variable;
  new (&done_) std::condition_variable;
  static_cast<void>(new std::deque<QueuedUnit>(std::move(entries_)));
  static_cast<void>(new std::deque<QueuedUnit>(std::move(under_way_)));
  entries_.clear();
  under_way_.clear();
  if (thread_.joinable()) thread_.detach();
  running_ = false;
  finished_ = submitted_;
  awaited_ = 0;
}

}  // namespace penstock
