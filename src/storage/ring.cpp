#include "storage/ring.hpp"

#include <liburing.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "base/buffer.hpp"

namespace penstock {
namespace {

/// Requests are cut at multiples of a size between these, in the file. Longer pieces are faster,
/// shorter ones let smaller requests keep all places of the ring busy.
constexpr std::int64_t shortest_piece = 512 << 10, longest_piece = 4 << 20;

/// How often in a row the kernel may take nothing before the ring counts as broken.
constexpr int most_refusals = 1000;

/// The ring itself: from its making to its end, and every call on it.
class Ring {
 public:
  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    if (open_) ::io_uring_queue_exit(&ring_);
  }

  /// 0, or an errno.
  int open(unsigned depth) {
    const int code = ::io_uring_queue_init(depth, &ring_, 0);
    if (code < 0) return -code;
    open_ = true;
    io_uring_probe* probe = ::io_uring_get_probe_ring(&ring_);
    const bool can_move = probe != nullptr && ::io_uring_opcode_supported(probe, IORING_OP_READ) &&
                          ::io_uring_opcode_supported(probe, IORING_OP_WRITE);
    ::io_uring_free_probe(probe);
    return can_move ? 0 : ENOSYS;  // before Linux 5.6
  }

  void push(Way way, int fd, std::byte* memory, std::int64_t size, std::int64_t offset,
            void* owner) {
    io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);  // there are as many as pieces on their way
    const auto count = static_cast<unsigned>(size);
    const auto at = static_cast<std::uint64_t>(offset);
    if (way == Way::read) ::io_uring_prep_read(entry, fd, memory, count, at);
    else ::io_uring_prep_write(entry, fd, memory, count, at);
    ::io_uring_sqe_set_data(entry, owner);
  }
  /// Hands what was pushed to the kernel and waits for one answer. A count, or -errno.
  int submit_and_wait() { return ::io_uring_submit_and_wait(&ring_, 1); }
  /// How many of those pushed the kernel has not taken.
  int not_taken() const { return static_cast<int>(::io_uring_sq_ready(&ring_)); }

  struct Answer {
    void* owner;  // null: there is none yet
    std::int64_t code;
  };
  Answer next_answer() {
    io_uring_cqe* entry = nullptr;
    if (::io_uring_peek_cqe(&ring_, &entry) != 0 || entry == nullptr) return {nullptr, 0};
    const Answer answer{::io_uring_cqe_get_data(entry), entry->res};
    ::io_uring_cqe_seen(&ring_, entry);
    return answer;
  }

 private:
  io_uring ring_{};
  bool open_ = false;
};

/// One piece on its way.
struct Flight {
  bool active = false;
  std::int64_t begin = 0, size = 0, done = 0;  // begin: within the request
  std::byte* memory = nullptr;                 // the caller's, or that of the bounce buffer
  Buffer bounce;                               // where the caller's memory is not aligned
};

class RingMover : public Mover {
 public:
  RingMover(const BlockFile& file, int depth)
      : fd_(file.number()),
        block_(file.block),
        alignment_(file.memory_alignment),
        plain_(make_plain_mover(file)),
        flights_(static_cast<std::size_t>(depth)) {}

  int open_ring() { return ring_.open(static_cast<unsigned>(flights_.size())); }

  std::int64_t move(Way way, std::byte* memory, std::int64_t size, std::int64_t offset) override {
    // One piece gains nothing from the ring.
    if (broken_ || size <= shortest_piece) return plain_->move(way, memory, size, offset);
    way_ = way;
    memory_ = memory;
    offset_ = offset;
    next_ = error_ = 0;
    good_ = size;
    piece_ = piece_for(memory, size);
    for (Flight& flight : flights_) start(flight);
    while (in_flight_ > 0 && !broken_) await_answers();
    if (broken_) leave_ring();
    if (good_ == 0 && broken_) return plain_->move(way, memory, size, offset);
    return good_ > 0 ? good_ : -error_;
  }

 private:
  std::int64_t piece_for(const std::byte* memory, std::int64_t size) const {
    if (!aligned(memory)) return shortest_piece;  // what a bounce buffer holds
    const std::int64_t share = size / std::ssize(flights_) / shortest_piece * shortest_piece;
    return std::clamp(share, shortest_piece, longest_piece);
  }

  /// Sends the next piece, if there is one and nothing before it has failed.
  void start(Flight& flight) {
    if (next_ >= good_ || broken_) return;
    const std::int64_t to_bound = piece_ - (offset_ + next_) % piece_;
    flight.active = true;
    flight.begin = next_;
    flight.size = std::min(good_ - next_, to_bound);
    flight.done = 0;
    flight.memory = memory_ + next_;
    if (!aligned(flight.memory)) use_bounce(flight);
    next_ += flight.size;
    ++in_flight_;
    push(flight);
  }

  bool aligned(const std::byte* memory) const {
    return reinterpret_cast<std::uintptr_t>(memory) % static_cast<std::uintptr_t>(alignment_) == 0;
  }

  void use_bounce(Flight& flight) {
    if (flight.bounce.size() == 0) flight.bounce = Buffer(shortest_piece, nullptr);
    flight.memory = flight.bounce.data();
    if (way_ == Way::write)
      std::memcpy(flight.memory, memory_ + flight.begin, static_cast<std::size_t>(flight.size));
  }

  void push(Flight& flight) {
    ring_.push(way_, fd_, flight.memory + flight.done, flight.size - flight.done,
               offset_ + flight.begin + flight.done, &flight);
  }

  void await_answers() {
    const int code = ring_.submit_and_wait();
    bool answered = false;
    while (take_answer()) answered = true;
    if (code >= 0 || code == -EINTR || answered) {
      refusals_ = 0;
      return;
    }
    // Short of memory, or of room for answers: so it may go on after a while.
    const bool may_pass = code == -EAGAIN || code == -EBUSY;
    if (!may_pass || ++refusals_ > most_refusals) broken_ = true;
    else std::this_thread::yield();
  }

  bool take_answer() {
    const Ring::Answer answer = ring_.next_answer();
    if (answer.owner == nullptr) return false;
    advance(*static_cast<Flight*>(answer.owner), answer.code);
    return true;
  }

  /// What the kernel answered to a piece: the rest of it goes again, or it is over.
  void advance(Flight& flight, std::int64_t code) {
    if (code == -EAGAIN)  // no worker for it: do it here and now
      code = plain_->move(way_, flight.memory + flight.done, flight.size - flight.done,
                          offset_ + flight.begin + flight.done);
    if (code == -EINTR) code = 0;
    else if (code <= 0) return settle(flight, static_cast<int>(-code));
    flight.done += code;
    // A rest that begins within a block is the end of the file, or a matter of the page cache.
    if (flight.done == flight.size || flight.done % block_ != 0 || broken_) settle(flight, 0);
    else push(flight);
  }

  /// `error` 0 with bytes left to do: the file ends there.
  void settle(Flight& flight, int error) {
    flight.active = false;
    --in_flight_;
    if (way_ == Way::read && flight.memory == flight.bounce.data() && flight.done > 0)
      std::memcpy(memory_ + flight.begin, flight.memory, static_cast<std::size_t>(flight.done));
    if (flight.done < flight.size && flight.begin + flight.done < good_) {
      good_ = flight.begin + flight.done;
      error_ = error;
    }
    start(flight);
  }

  /// The ring refuses to go on. What the kernel has taken it will still write into memory, so wait
  /// for that; the rest was never done.
  void leave_ring() {
    while (in_flight_ > ring_.not_taken())
      if (!take_answer()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (Flight& flight : flights_)
      if (flight.active) settle(flight, 0);
  }

  int fd_;
  std::int64_t block_, alignment_;
  std::unique_ptr<Mover> plain_;
  std::vector<Flight> flights_;
  Ring ring_;
  bool broken_ = false;
  int refusals_ = 0;

  // The request at hand.
  Way way_ = Way::read;
  std::byte* memory_ = nullptr;
  std::int64_t offset_ = 0;
  std::int64_t piece_ = shortest_piece;
  std::int64_t next_ = 0;  // where the next piece begins
  std::int64_t good_ = 0;  // nothing behind this counts: the end, or the first byte that failed
  int error_ = 0;          // why
  int in_flight_ = 0;
};

}  // namespace

std::unique_ptr<Mover> make_ring_mover(const BlockFile& file, int depth, int& error) {
  auto mover = std::make_unique<RingMover>(file, std::clamp(depth, 1, 1024));
  error = mover->open_ring();
  if (error != 0) return nullptr;
  return mover;
}

}  // namespace penstock
