// Storage over io_uring. Requests are cut in pieces; the pieces of all requests go to the kernel in
// order of submission, up to `depth` at a time.
//
// Whichever thread submits, polls or waits handles completions and submits further pieces. One
// thread at a time waits in the kernel, without the lock; meanwhile no other takes completions,
// since the waiting one would miss them.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "storage/ring.hpp"

namespace penstock {
namespace {

/// Requests are cut at multiples of a size in this range. Longer pieces are faster, shorter ones
/// let smaller requests keep all entries of the ring busy.
constexpr std::int64_t shortest_piece = 512 << 10, longest_piece = 4 << 20;

/// How often in a row the kernel may take nothing before the ring counts as broken.
constexpr int most_refusals = 1000;

/// A request in flight.
struct RingRequest {
  IoRequest* request;
  std::int64_t longest;   // pieces are cut at multiples of this
  std::int64_t good;      // nothing behind this counts: the end, or the first byte that failed
  int error = 0;          // reason for `good`
  std::int64_t next = 0;  // where the next piece begins
  int in_flight = 0;      // pieces

  bool all_begun() const noexcept { return next >= good; }
};

/// A piece that is in the ring, or a free entry.
struct Flight {
  std::list<RingRequest>::iterator of;
  bool active = false;
  Piece piece;
};

class RingStorage : public BlockStorage {
 public:
  RingStorage(BlockFile file, const std::string& path, int depth)
      : BlockStorage(std::move(file), path), flights_(static_cast<std::size_t>(depth)) {
    for (Flight& flight : flights_) free_.push_back(&flight);
  }

  int open_ring() { return ring_.open(static_cast<unsigned>(flights_.size())); }

  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override {
    // A blocking call of a single piece has nothing to run concurrently with.
    if (size_of(memory) <= shortest_piece)
      return BlockStorage::move_some(direction, memory, offset);
    IoRequest request{.direction = direction, .offset = offset, .memory = memory};
    submit({&request, 1});
    wait(request);
    return request.result;
  }
  bool completes_later() const override { return true; }
  void submit(std::span<IoRequest> requests) override;
  bool poll(IoRequest& request) override;
  void wait(IoRequest& request) override;

 private:
  using RingRequestIterator = std::list<RingRequest>::iterator;

  void add(IoRequest& request);
  void begin_pieces();
  void take_piece(Flight& flight);
  void dispatch(Flight& flight);
  void hand_to_kernel();
  bool take_answers();
  bool advance(Flight& flight, std::int64_t code);
  void complete(Flight& flight, int error);
  void end(RingRequestIterator progress);
  void wait_in_kernel(std::unique_lock<std::mutex>& guard);
  void leave_ring();

  std::mutex mutex_;
  std::condition_variable answered_;
  bool waiting_in_kernel_ = false;
  std::vector<Flight> flights_;
  std::vector<Flight*> free_;
  std::list<RingRequest> under_way_;
  std::deque<RingRequestIterator> to_begin_;  // those with pieces that have not begun
  Ring ring_;
  int refusals_ = 0;
  bool broken_ = false;  // the kernel is not used any more: the calling threads do the accesses
};

void RingStorage::submit(std::span<IoRequest> requests) {
  const std::lock_guard guard(mutex_);
  for (IoRequest& request : requests) add(request);
  begin_pieces();
}

bool RingStorage::poll(IoRequest& request) {
  const std::lock_guard guard(mutex_);
  if (!request.done && !waiting_in_kernel_) take_answers();
  return request.done;
}

void RingStorage::wait(IoRequest& request) {
  std::unique_lock guard(mutex_);
  while (!request.done) {
    if (waiting_in_kernel_) answered_.wait(guard);
    else if (!take_answers()) wait_in_kernel(guard);
  }
}

void RingStorage::add(IoRequest& request) {
  const std::int64_t size = size_of(request.memory);
  if (size == 0 || !is_range(size, request.offset)) {
    request.result = through_page_cache(request.direction, request.memory, request.offset);
    request.done = true;
    return;
  }
  const std::int64_t share = size / std::ssize(flights_) / shortest_piece * shortest_piece;
  const std::int64_t longest = std::clamp(share, shortest_piece, longest_piece);
  to_begin_.push_back(under_way_.insert(under_way_.end(), {&request, longest, size}));
}

void RingStorage::begin_pieces() {
  while (!to_begin_.empty() && !free_.empty()) {
    if (to_begin_.front()->all_begun()) {
      to_begin_.pop_front();
      continue;
    }
    Flight& flight = *free_.back();
    free_.pop_back();
    take_piece(flight);
    dispatch(flight);
  }
  hand_to_kernel();
}

void RingStorage::take_piece(Flight& flight) {
  const RingRequestIterator progress = to_begin_.front();
  const IoRequest& request = *progress->request;
  const std::int64_t at = request.offset + progress->next;
  const std::int64_t to_bound = progress->longest - at % progress->longest;
  cut(flight.piece, request.direction, request.memory, request.offset, progress->next,
      std::min(to_bound, progress->good - progress->next));
  flight.of = progress;
  flight.active = true;
  progress->next += flight.piece.size();
  ++progress->in_flight;
}

void RingStorage::dispatch(Flight& flight) {
  const Piece& piece = flight.piece;
  // A short write to the page cache is only a copy: this thread does it sooner than a worker thread
  // of the kernel would wake up.
  const bool here =
      piece.direction() == Direction::write && !piece.past_cache() && piece.size() < shortest_piece;
  if (!broken_ && !here)
    return ring_.push(piece.direction(), number_for(piece), piece.memory(), piece.offset(),
                      &flight);
  while (!advance(flight, move_now(piece))) {
  }
}

void RingStorage::hand_to_kernel() {
  if (broken_ || ring_.not_taken() == 0) return;
  const int code = ring_.submit();
  if (code >= 0 || code == -EINTR) {
    refusals_ = 0;
    return;
  }
  // -EAGAIN: the kernel is short of memory; -EBUSY: its completion queue is full. Both may pass, so
  // the ring counts as broken only after most_refusals in a row.
  const bool may_pass = code == -EAGAIN || code == -EBUSY;
  if (may_pass && ++refusals_ <= most_refusals) return;
  broken_ = true;
  if (!waiting_in_kernel_) leave_ring();
}

/// Handles all available completions, and submits pieces for the room they leave. False: there was
/// none.
bool RingStorage::take_answers() {
  bool any = false;
  for (Ring::Answer answer = ring_.next_answer(); answer.owner != nullptr;
       answer = ring_.next_answer()) {
    Flight& flight = *static_cast<Flight*>(answer.owner);
    if (!advance(flight, answer.code)) dispatch(flight);
    any = true;
  }
  begin_pieces();
  return any;
}

/// Handles the kernel's result for a piece. True: the piece is done; otherwise the rest of it is
/// submitted again.
bool RingStorage::advance(Flight& flight, std::int64_t code) {
  Piece& piece = flight.piece;
  // -EAGAIN: the kernel had no worker thread for the piece. -EINVAL past the page cache: the file
  // system refuses direct I/O after all. Either way this thread carries the piece out.
  if (code == -EAGAIN || (code == -EINVAL && piece.past_cache())) code = move_now(piece);
  if (code == -EINTR) return false;
  if (code <= 0) {
    complete(flight, static_cast<int>(-code));
    return true;
  }
  piece.moved(code);
  // The rest can bypass the page cache only from a block boundary on. Elsewhere the file ends
  // there, or the caller's next request moves the rest through the page cache.
  const bool over =
      piece.done() == piece.size() || (piece.past_cache() && piece.done() % block() != 0);
  if (over) complete(flight, 0);
  return over;
}

/// `error` 0 with bytes left to do: the file ends there.
void RingStorage::complete(Flight& flight, int error) {
  const RingRequestIterator progress = flight.of;
  const Piece& piece = flight.piece;
  piece.give_back(progress->request->memory);
  flight.active = false;
  free_.push_back(&flight);
  --progress->in_flight;
  const std::int64_t got_to = piece.begin() + piece.done();
  if (piece.done() < piece.size() && got_to < progress->good) {
    progress->good = got_to;
    progress->error = error;
  }
  if (progress->in_flight == 0 && progress->all_begun()) end(progress);
}

void RingStorage::end(RingRequestIterator progress) {
  // Pieces are begun request by request, so only the first of to_begin_ can have begun any; a
  // request that ended at its first failure may still be there.
  if (!to_begin_.empty() && to_begin_.front() == progress) to_begin_.pop_front();
  progress->request->result = progress->good > 0 ? progress->good : -progress->error;
  progress->request->done = true;
  under_way_.erase(progress);
}

void RingStorage::wait_in_kernel(std::unique_lock<std::mutex>& guard) {
  const auto active = static_cast<int>(flights_.size() - free_.size());
  if (broken_ ||
      active == ring_.not_taken()) {  // the kernel has nothing, and would not wake this thread
    guard.unlock();
    std::this_thread::yield();
    guard.lock();
    return hand_to_kernel();
  }
  waiting_in_kernel_ = true;
  guard.unlock();
  ring_.wait();
  guard.lock();
  waiting_in_kernel_ = false;
  if (broken_) leave_ring();
  else take_answers();
  answered_.notify_all();
}

/// The ring has stopped working. Pieces that the kernel has taken may still write into memory, so
/// wait for them; the rest was never done, and is done here.
void RingStorage::leave_ring() {
  const auto in_kernel = [&] {
    return static_cast<int>(flights_.size() - free_.size()) - ring_.not_taken();
  };
  while (in_kernel() > 0)
    if (!take_answers()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (Flight& flight : flights_)
    if (flight.active) dispatch(flight);
  begin_pieces();
}

}  // namespace

std::unique_ptr<Storage> make_ring_storage(const BlockFile& file, const std::string& path,
                                           int depth, int& error) {
  auto storage = std::make_unique<RingStorage>(file, path, std::clamp(depth, 1, 1024));
  error = storage->open_ring();
  if (error != 0) return nullptr;
  return storage;
}

}  // namespace penstock
