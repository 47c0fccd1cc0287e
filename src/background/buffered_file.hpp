// BufferedFile: one file of the operating system as the background sees it, however often it is
// open: its ledger, and the queue that all of its units go to.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "background/io_queue.hpp"
#include "background/ledger.hpp"

namespace penstock {

class BufferedFile {
 public:
  using Which = Ledger::Which;

  /// `who`: this process, for messages.
  BufferedFile(std::shared_ptr<IoQueue> queue, std::string path, std::string who)
      : queue_(std::move(queue)), path_(std::move(path)), who_(std::move(who)) {}
  BufferedFile(const BufferedFile&) = delete;
  ~BufferedFile() { drain(); }

  IoQueue& queue() noexcept { return *queue_; }
  /// Tickets are those of its queue.
  IoTicket submit(IoUnit unit) { return queue_->submit(ledger_, std::move(unit)); }
  bool is_done(IoTicket ticket) { return queue_->is_done(ticket); }
  void wait(IoTicket ticket) { queue_->wait(ticket); }
  /// Until nothing of the file is queued.
  void drain(Which which = Which::all) { queue_->drain(ledger_, which); }
  bool is_drained(Which which = Which::all) { return queue_->is_drained(ledger_, which); }
  /// Somebody waits for a unit of its queue.
  bool is_expedited() { return queue_->is_expedited(); }

  /// See Ledger.
  Extent pending_hull();
  std::vector<Extent> pending();
  void publish(SharedExtent& hull);
  void unpublish(SharedExtent& hull) noexcept;
  /// Where another process of this node has writes of the file pending. Whoever has the file open
  /// in this process looks there, by whichever handle it knows that process.
  struct Elsewhere {
    const SharedExtent* hull;
    int rank;              // of that process, by the handle
    std::int64_t process;  // its id
  };
  void watch(const Elsewhere& other);
  void unwatch(const SharedExtent& hull) noexcept;
  bool is_pending_elsewhere(Extent range);
  /// Those that have some of these bytes pending.
  std::vector<Elsewhere> pending_elsewhere(Extent range);
  /// See Ledger.
  void announce(Extent extent);
  void retract(Extent extent) noexcept;
  /// See Ledger.
  void fail(const Error& error, const void* owner, std::int64_t operation);
  std::optional<Error> lost(const void* owner, std::int64_t operation);
  bool has_failure();
  /// Later writes of the file are dropped first.
  std::optional<Error> take_failure();
  void mark_synced();  // see Ledger
  /// On stderr what nobody can be thrown: a failure, or that the file was not closed.
  void tell() noexcept;
  /// In a forked child, under the queue's lock.
  void forget() {
    ledger_.forget();
    watched_.clear();
  }

 private:
  const std::shared_ptr<IoQueue> queue_;
  const std::string path_, who_;
  Ledger ledger_;
  std::vector<Elsewhere> watched_;  // guarded by the queue's lock, too
};

}  // namespace penstock
