// BufferedFile: one file of the operating system in the background, however often it is open: the
// record of its pending writes, and the queue of all its units.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "background/io_queue.hpp"
#include "background/unit_record.hpp"

namespace penstock {

class BufferedFile {
 public:
  using Which = UnitRecord::Which;

  /// `who`: this process, for messages.
  BufferedFile(std::shared_ptr<IoQueue> queue, std::string path, std::string who)
      : queue_(std::move(queue)), path_(std::move(path)), who_(std::move(who)) {}
  BufferedFile(const BufferedFile&) = delete;
  ~BufferedFile() { drain(); }

  IoQueue& queue() noexcept { return *queue_; }
  /// Tickets are those of its queue.
  IoTicket submit(IoUnit unit) { return queue_->submit(record_, std::move(unit)); }
  bool is_done(IoTicket ticket) { return queue_->is_done(ticket); }
  void wait(IoTicket ticket) { queue_->wait(ticket); }
  /// Waits until nothing of the file is queued.
  void drain(Which which = Which::all) { queue_->drain(record_, which); }
  bool is_drained(Which which = Which::all) { return queue_->is_drained(record_, which); }
  /// Whether somebody waits for a unit of its queue.
  bool is_expedited() { return queue_->is_expedited(); }

  /// See UnitRecord.
  Extent pending_hull();
  std::vector<Extent> pending();
  void publish(SharedExtent& hull);
  void unpublish(SharedExtent& hull) noexcept;
  /// Another process of this node that may have writes of the file pending. All handles of the file
  /// in this process look there, whichever of them knows that process.
  struct Elsewhere {
    const SharedExtent* hull;
    int rank;              // of that process, in the communicator of the handle
    std::int64_t process;  // process id
  };
  void watch(const Elsewhere& other);
  void unwatch(const SharedExtent& hull) noexcept;
  bool is_pending_elsewhere(Extent range);
  /// The processes that have some of these bytes pending.
  std::vector<Elsewhere> pending_elsewhere(Extent range);
  /// See UnitRecord.
  void announce(Extent extent);
  void retract(Extent extent) noexcept;
  /// See UnitRecord.
  void fail(const Error& error, const void* owner, std::int64_t operation);
  std::optional<Error> lost(const void* owner, std::int64_t operation);
  bool has_failure();
  /// Drops later queued writes of the file first.
  std::optional<Error> take_failure();
  void mark_synced();  // see UnitRecord
  /// Reports on stderr what cannot be thrown any more: a failure, or that the file was not closed.
  void report() noexcept;
  /// In a forked child, with the queue's lock held.
  void forget() {
    record_.forget();
    watched_.clear();
  }

 private:
  const std::shared_ptr<IoQueue> queue_;
  const std::string path_, who_;
  UnitRecord record_;
  std::vector<Elsewhere> watched_;  // also guarded by the queue's lock
};

}  // namespace penstock
