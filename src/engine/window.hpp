// Window: one round of a domain in memory, from finding its sources until its bytes are in storage.
//
// A window is in one of four states. Its memory (WindowIo) is part of the state, so that only the
// window's current holder can reach it.
//
//   Free      holds no wanted bytes
//   Open      bytes are copied into it, or out of it, by the calling thread; in shared memory or in
//             the active buffer, by the ranks of the node as well
//   UnderWay  the calling thread has begun to fill or flush it, and will end that
//   Lent      another thread fills or flushes it; nothing of it can be reached until that has ended
//
//   of a read:   Free --open()--> Open --> UnderWay or Lent --> Open --open()--> ...
//   of a write:  Free --open()--> Open --> UnderWay or Lent --> Free
//
// A buffered write's window is not lent but given away: hand_over() in window_queue.hpp.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "background/io_queue.hpp"
#include "base/failure.hpp"
#include "engine/window_io.hpp"

namespace penstock {

/// The storage accesses of one window, and their result. For one thread at a time.
struct StorageJob {
  std::unique_ptr<WindowIo> io;
  bool fills = false;          // otherwise it flushes
  std::optional<Error> error;  // the first one

  void begin() {
    note(attempt([&] { fills ? io->begin_fill() : io->begin_flush(); }));
  }
  /// Also after a failure: accesses in flight must end, and the lock be released.
  void end() {
    note(attempt([&] { io->finish(); }));
  }

 private:
  void note(std::optional<Error> failed) {
    if (!error) error = std::move(failed);
  }
};

class Window {
 public:
  explicit Window(std::unique_ptr<WindowIo> io) : state_(Free{std::move(io)}) {}
  Window(const Window&) = delete;

  // For the calling thread in every state.
  std::int64_t round = -1;
  Extent extent;
  std::vector<WindowStream> streams;  // per source; empty: no bytes in this round

  /// For another round, of a free or open window.
  WindowIo& open() {
    if (auto* const free = std::get_if<Free>(&state_)) state_ = Open{std::move(free->io)};
    return io();
  }
  /// Of an open window.
  WindowIo& io() { return *std::get<Open>(state_).io; }
  /// Whether nothing is left to wait for.
  bool is_done() {
    if (auto* const mine = std::get_if<UnderWay>(&state_)) return mine->job.io->is_done();
    if (auto* const lent = std::get_if<Lent>(&state_)) return lent->is_done();
    return true;
  }
  bool is_lent() const noexcept { return std::holds_alternative<Lent>(state_); }
  bool is_at_storage() const noexcept {
    return is_lent() || std::holds_alternative<UnderWay>(state_);
  }

  /// Open window: the calling thread begins the job.
  StorageJob& start(bool fills) {
    return state_.emplace<UnderWay>(UnderWay{{take(), fills, {}}}).job;
  }
  /// Open window: a thread of `queue` does the job. `submit(job)` queues it and returns its ticket.
  template <class Submit>
  void lend(IoQueue& queue, bool fills, Submit&& submit) {
    auto job = std::make_shared<StorageJob>(StorageJob{take(), fills, {}});
    const IoTicket ticket = submit(job);
    state_.emplace<Lent>(queue, std::move(job), ticket);
  }
  /// Window in flight: ends the job, or waits until the other thread has.
  StorageJob take_job() {
    if (auto* const lent = std::get_if<Lent>(&state_)) return lent->take();
    StorageJob& mine = std::get<UnderWay>(state_).job;
    mine.end();
    return std::move(mine);
  }
  /// Takes over the result of the job.
  void settle(StorageJob job) {
    if (job.fills) state_ = Open{std::move(job.io)};
    else state_ = Free{std::move(job.io)};
  }
  /// Open window, which ends here.
  std::unique_ptr<WindowIo> give_away() { return take(); }

 private:
  struct Free {
    std::unique_ptr<WindowIo> io;
  };
  struct Open {
    std::unique_ptr<WindowIo> io;
  };
  struct UnderWay {
    StorageJob job;
  };
  class Lent {
   public:
    Lent(IoQueue& queue, std::shared_ptr<StorageJob> job, IoTicket ticket) noexcept
        : queue_(queue), job_(std::move(job)), ticket_(ticket) {}
    Lent(const Lent&) = delete;
    ~Lent() { queue_.wait(ticket_); }
    bool is_done() const { return queue_.is_done(ticket_); }
    StorageJob take() {
      queue_.wait(ticket_);
      return std::move(*job_);
    }

   private:
    IoQueue& queue_;
    const std::shared_ptr<StorageJob> job_;
    const IoTicket ticket_;
  };
  std::unique_ptr<WindowIo> take() { return std::move(std::get<Open>(state_).io); }

  std::variant<Free, Open, UnderWay, Lent> state_;
};

}  // namespace penstock
