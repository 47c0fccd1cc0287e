// UnitRecord: the state of the units of one file of the operating system, however often it is open:
// which are queued, which failed, which writes were lost.
//
// After a unit has failed, later writes of the file are dropped and counted until the failure has
// been taken: nothing gets into the file out of order.
//
// It has no lock of its own: the queue's lock guards it (see BufferedFile).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <penstock/error.hpp>

#include "background/io_unit.hpp"
#include "base/shared_extent.hpp"

namespace penstock {

class UnitRecord {
 public:
  enum class Which { writes, reads, all };

  void queued(IoTicket ticket, const IoUnit& unit);
  /// Whether writes are dropped.
  bool failed() const noexcept { return failure_.has_value(); }
  /// The oldest of its units has ended, possibly with `error`.
  void ended(const IoUnit& unit, bool dropped, std::optional<Error> error);
  /// Whether nothing of it is queued once the queue has reached `finished`.
  bool is_over(Which which, IoTicket finished) const noexcept;

  /// Extents of pending writes, oldest first.
  std::vector<Extent> pending() const;
  bool has_pending() const noexcept { return !pending_.empty(); }
  /// From the first to the last pending byte; ends below 0 if there is none.
  Extent pending_hull() const noexcept;

  /// As if a unit of write `operation` had failed.
  void fail(const Error& error, const void* owner, std::int64_t operation);
  /// Why a write is not in the file, even if the failure has been taken; nothing if no unit of it
  /// was lost.
  std::optional<Error> lost(const void* owner, std::int64_t operation) const;
  /// The failure that has not been taken yet; its text has the number of writes dropped after it.
  /// Afterwards writes are carried out again.
  std::optional<Error> take_failure();

  /// Maintains in `hull`, which must live until unpublish(), a range that contains all pending
  /// writes and is empty if there are none.
  void publish(SharedExtent& hull);
  void unpublish(SharedExtent& hull) noexcept;
  /// Other ranks have handed over bytes that will be queued as writes there: published from now on
  /// until retract(), by when the writes are queued. They are not in pending().
  void announce(Extent extent);
  void retract(Extent extent) noexcept;

  /// Whether something was buffered since the last mark_synced().
  bool has_unsynced() const noexcept { return unsynced_; }
  /// After sync or close: nothing has to be reported at the end of the process.
  void mark_synced() noexcept { unsynced_ = false; }
  /// In a forked child: the units are the parent's.
  void forget();

 private:
  struct Write {
    IoTicket ticket;
    Extent extent;
  };
  struct Lost {
    Error failure;  // of this write's unit, or of the earlier one after which it was dropped
    std::int64_t failed_operation;
  };
  void withdraw_if_over() noexcept;

  std::deque<Write> pending_;  // oldest first
  std::vector<Extent> announced_;
  std::vector<SharedExtent*> published_;
  IoTicket last_write_ = 0, last_read_ = 0;  // the newest units
  std::optional<Error> failure_;             // the first that has not been taken
  std::int64_t failed_operation_ = 0, dropped_ = 0, dropped_bytes_ = 0;
  bool unsynced_ = false;
  std::map<std::pair<const void*, std::int64_t>, Lost> lost_;  // by owner and operation
};

}  // namespace penstock
