#include "background/active_buffer.hpp"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>

#include "base/tally.hpp"

namespace penstock {
namespace {

/// What freed memory scattered between units in use may cost beyond the budget.
constexpr std::int64_t slack = std::int64_t{4} << 20;

std::string mebibytes(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

constexpr const char* write_again = ". Write again what was written since the last sync";

std::string in_the_background(std::int64_t operation) {
  return "; this was in the background, for write " + std::to_string(operation) + " of the file";
}

Error with_text(const Error& error, const std::string& text) {
  if (error.error_class() != ErrorClass::storage) return {error.error_class(), text};
  return {text, error.path(), error.offset(), error.error_number()};
}

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

ActiveBuffer& ActiveBuffer::instance() {
  // Never destroyed: files of static storage duration may still be closed at exit.
  static ActiveBuffer* const buffer = [] {
    std::atexit([] { instance().finish(); });
    survive_forks();
    return new ActiveBuffer;
  }();
  return *buffer;
}

void ActiveBuffer::survive_forks() {
  ::pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] {
                     instance().mutex_.unlock();
                     instance().forget();
                   });
}

/// A forked child has neither the thread nor anything to write: all of that is its parent's, and so
/// is the arena, which both see. What is left is left alone, not destroyed.
void ActiveBuffer::forget() {
  // They count the parent's thread among those that wait; a call for it would be lost.
  new (&has_work_) std::condition_variable;
  new (&done_) std::condition_variable;
  static_cast<void>(arena_.release());
  arena_ = std::make_unique<Arena>();
  static_cast<void>(new std::deque<Unit>(std::move(queue_)));
  queue_.clear();
  if (thread_.joinable()) thread_.detach();
  finished_ = submitted_;
  in_use_ = 0;
  held_ = awaited_ = 0;
  wakers_.clear();
  for (const auto& [key, known] : files_)
    if (const auto file = known.lock()) {
      file->pending.clear();
      file->lost.clear();
      file->failure.reset();
      file->unsettled = false;
    }
}

std::shared_ptr<BufferedFile> ActiveBuffer::file(std::uint64_t device, std::uint64_t inode,
                                                 const std::string& path, const std::string& who) {
  const std::lock_guard guard(mutex_);
  std::weak_ptr<BufferedFile>& known = files_[{device, inode}];
  if (auto file = known.lock()) return file;
  const auto file = std::make_shared<BufferedFile>(path, who);
  known = file;
  std::erase_if(files_, [](const auto& entry) { return entry.second.expired(); });
  return file;
}

bool ActiveBuffer::open_arena() {
  const std::lock_guard guard(mutex_);
  return arena_->open();
}

bool ActiveBuffer::fits(std::int64_t bytes, std::int64_t budget) const noexcept {
  return in_use_ + bytes <= budget;
}

bool ActiveBuffer::has_room(std::int64_t bytes, std::int64_t budget) {
  const std::lock_guard guard(mutex_);
  return fits(bytes, budget);
}

/// Memory, or none where the arena has no place for it below the budget.
ActiveBuffer::Memory ActiveBuffer::carve(std::int64_t bytes, std::int64_t budget) {
  Memory memory;
  if (!arena_->open()) throw std::bad_alloc();
  const std::int64_t offset = arena_->take(bytes, budget);
  if (offset == Arena::none) return memory;
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  memory.owner_ = this;
  memory.offset_ = offset;
  memory.bytes_ = bytes;
  return memory;
}

/// Somebody waits for a unit to finish: the thread goes on even if it is held. Under the mutex.
class ActiveBuffer::Awaiting {
 public:
  explicit Awaiting(ActiveBuffer& owner) : owner_(owner) {
    if (++owner_.awaited_ == 1 && owner_.held_ > 0) owner_.has_work_.notify_one();
  }
  Awaiting(const Awaiting&) = delete;
  ~Awaiting() { --owner_.awaited_; }

 private:
  ActiveBuffer& owner_;
};

ActiveBuffer::Memory ActiveBuffer::take(std::int64_t bytes, std::int64_t budget) {
  std::unique_lock guard(mutex_);
  for (;;) {
    const bool nothing_to_wait_for = nothing_queued();
    if (fits(bytes, budget))
      if (Memory memory = carve(bytes, budget + slack)) return memory;
    if (nothing_to_wait_for) {
      if (Memory memory = carve(bytes, std::numeric_limits<std::int64_t>::max())) return memory;
      throw std::bad_alloc();
    }
    const Awaiting awaiting(*this);
    done_.wait(guard);
  }
}

ActiveBuffer::Memory ActiveBuffer::try_take(std::int64_t bytes, std::int64_t budget) {
  const std::lock_guard guard(mutex_);
  return fits(bytes, budget) ? carve(bytes, budget + slack) : Memory();
}

void ActiveBuffer::trim(std::int64_t budget) {
  const std::lock_guard guard(mutex_);
  if (arena_->committed() > budget + slack) arena_->trim(budget);
}

void ActiveBuffer::give(std::int64_t offset, std::int64_t bytes) noexcept {
  const std::lock_guard guard(mutex_);
  arena_->give(offset, bytes);
  in_use_ -= bytes;
  done_.notify_all();
}

void ActiveBuffer::Memory::release() noexcept {
  if (owner_ != nullptr) owner_->give(offset_, bytes_);
  owner_ = nullptr;
}

std::byte* ActiveBuffer::Memory::data() const noexcept {
  return owner_ == nullptr ? nullptr : owner_->arena_->view().base + offset_;
}

void ActiveBuffer::hold(int more) {
  const std::lock_guard guard(mutex_);
  held_ += more;
  if (held_ == 0 && !queue_.empty()) has_work_.notify_one();
}

void ActiveBuffer::urge(int more) {
  const std::lock_guard guard(mutex_);
  awaited_ += more;
  if (awaited_ > 0 && held_ > 0) has_work_.notify_one();
}

bool ActiveBuffer::is_urged() {
  const std::lock_guard guard(mutex_);
  return awaited_ > 0 || stop_;
}

void ActiveBuffer::start() {
  if (thread_.joinable()) return;
  // Signals are the program's business: its own threads take them, not this one.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  stop_ = false;
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ActiveBuffer::Ticket ActiveBuffer::submit(Unit unit) {
  std::unique_lock guard(mutex_);
  start();
  const Ticket ticket = ++submitted_;
  if (unit.extent.empty()) unit.file->last_read = ticket;
  else {
    unit.file->last_write = ticket;
    unit.file->pending.push_back({ticket, unit.extent});
    unit.file->unsettled = true;
  }
  queue_.push_back(std::move(unit));
  if (held_ == 0) has_work_.notify_one();
  return ticket;
}

void ActiveBuffer::run() {
  in_background = true;
  std::unique_lock guard(mutex_);
  for (;;) {
    has_work_.wait(guard,
                   [&] { return stop_ || (!queue_.empty() && (held_ == 0 || awaited_ > 0)); });
    if (queue_.empty()) return;
    Unit unit = std::move(queue_.front());
    queue_.pop_front();
    run_one(unit, guard);
  }
}

void ActiveBuffer::run_one(Unit& unit, std::unique_lock<std::mutex>& guard) {
  const bool drop = !unit.extent.empty() && unit.file->failure.has_value();
  guard.unlock();
  std::optional<Error> error;
  if (!drop) {
    place_thread(unit.placement);
    error = error_of(unit.work);
  }
  unit.work = nullptr;  // the unit's memory
  guard.lock();
  finished(unit, drop, std::move(error));
}

void ActiveBuffer::finished(const Unit& unit, bool dropped, std::optional<Error> error) {
  BufferedFile& file = *unit.file;
  ++finished_;
  if (!unit.extent.empty()) file.pending.pop_front();
  if (dropped) {
    ++file.dropped;
    file.dropped_bytes += unit.extent.length();
  } else if (error && !file.failure) {
    file.failure = std::move(error);
    file.failed_operation = unit.operation;
  }
  if (file.failure && !unit.extent.empty())
    file.lost.insert({{unit.owner, unit.operation}, {*file.failure, file.failed_operation}});
  done_.notify_all();
  for (const auto& [id, wake] : wakers_) wake();
}

bool ActiveBuffer::is_idle() {
  const std::lock_guard guard(mutex_);
  return nothing_queued();
}

bool ActiveBuffer::is_done(Ticket ticket) {
  const std::lock_guard guard(mutex_);
  return finished_ >= ticket;
}

void ActiveBuffer::wait(Ticket ticket) {
  std::unique_lock guard(mutex_);
  const Awaiting awaiting(*this);
  done_.wait(guard, [&] { return finished_ >= ticket; });
}

void ActiveBuffer::drain(BufferedFile& file, Which which) {
  std::unique_lock guard(mutex_);
  const Awaiting awaiting(*this);
  done_.wait(guard, [&] {
    return (which == Which::reads || finished_ >= file.last_write) &&
           (which == Which::writes || finished_ >= file.last_read);
  });
}

Extent ActiveBuffer::pending_hull(const BufferedFile& file) {
  Extent hull{std::numeric_limits<std::int64_t>::max(), -1};
  for (const Extent extent : pending(file)) {
    hull.begin = std::min(hull.begin, extent.begin);
    hull.end = std::max(hull.end, extent.end);
  }
  return hull;
}

std::vector<Extent> ActiveBuffer::pending(const BufferedFile& file) {
  const std::lock_guard guard(mutex_);
  std::vector<Extent> extents;
  for (const BufferedFile::Write& write : file.pending) extents.push_back(write.extent);
  return extents;
}

bool ActiveBuffer::has_failure(const BufferedFile& file) {
  const std::lock_guard guard(mutex_);
  return file.failure.has_value();
}

void ActiveBuffer::fail(BufferedFile& file, const Error& error, const void* owner,
                        std::int64_t operation) {
  const std::lock_guard guard(mutex_);
  file.lost.insert({{owner, operation}, {error, operation}});
  if (file.failure) return;
  file.failure = error;
  file.failed_operation = operation;
}

std::optional<Error> ActiveBuffer::lost(BufferedFile& file, const void* owner,
                                        std::int64_t operation) {
  const std::lock_guard guard(mutex_);
  const auto found = file.lost.find({owner, operation});
  if (found == file.lost.end()) return std::nullopt;
  const auto& [failure, failed] = found->second;
  std::string text = failure.what() + in_the_background(failed);
  if (failed != operation)
    text += "; write " + std::to_string(operation) +
            ", which came after it, was dropped, so that nothing is in the file out of order";
  return with_text(failure, text + write_again);
}

std::optional<Error> ActiveBuffer::take_failure(BufferedFile& file) {
  if (!has_failure(file)) return std::nullopt;
  drain(file);
  const std::lock_guard guard(mutex_);
  if (!file.failure) return std::nullopt;  // somebody else has it
  const Error failure = *std::exchange(file.failure, std::nullopt);
  std::string text = failure.what() + in_the_background(file.failed_operation);
  if (file.dropped > 0)
    text += "; " + std::to_string(file.dropped) + " buffered units after it (" +
            mebibytes(file.dropped_bytes) +
            ") were dropped, so that nothing is in the file out of order";
  file.dropped = file.dropped_bytes = 0;
  return with_text(failure, text + write_again);
}

void ActiveBuffer::settle(BufferedFile& file) {
  const std::lock_guard guard(mutex_);
  file.unsettled = false;
}

int ActiveBuffer::call_after_units(std::function<void()> wake) {
  const std::lock_guard guard(mutex_);
  wakers_[++next_waker_] = std::move(wake);
  return next_waker_;
}

void ActiveBuffer::cancel_call(int id) {
  const std::lock_guard guard(mutex_);
  wakers_.erase(id);
}

void ActiveBuffer::finish() noexcept {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  has_work_.notify_one();
  if (thread_.joinable()) thread_.join();
  std::vector<std::shared_ptr<BufferedFile>> left;
  {
    const std::lock_guard guard(mutex_);
    for (const auto& [key, file] : files_)
      if (auto alive = file.lock()) left.push_back(std::move(alive));
  }
  for (const auto& file : left) tell(*file);
}

void ActiveBuffer::tell(BufferedFile& file) noexcept {
  if (const std::optional<Error> failure = take_failure(file))
    std::fprintf(stderr, "penstock: %s: LOST DATA: %s\n", file.who.c_str(), failure->what());
  else if (file.unsettled)
    std::fprintf(stderr,
                 "penstock: %s: '%s' was never closed; what was buffered for it has been written "
                 "now. Close files: errors of the last writes reach the program there\n",
                 file.who.c_str(), file.path.c_str());
  file.unsettled = false;
}

std::int64_t ActiveBuffer::in_use() {
  const std::lock_guard guard(mutex_);
  return in_use_;
}

std::int64_t ActiveBuffer::peak() {
  const std::lock_guard guard(mutex_);
  return peak_;
}

void ActiveBuffer::restart_peak() {
  const std::lock_guard guard(mutex_);
  peak_ = in_use_;
}

}  // namespace penstock
