// Ledger: what became of the units of one file of the operating system, however often it is open:
// what is queued, what failed, which writes were lost.
//
// After a unit has failed, later writes of the file are dropped and counted until somebody has
// taken the failure: nothing gets into the file out of order.
//
// It has no lock: its queue's lock guards it (see BufferedFile).
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

class Ledger {
 public:
  enum class Which { writes, reads, all };

  void queued(IoTicket ticket, const IoUnit& unit);
  /// Writes are dropped.
  bool failed() const noexcept { return failure_.has_value(); }
  /// The oldest of its units has ended, with `error` or without.
  void ended(const IoUnit& unit, bool dropped, std::optional<Error> error);
  /// Nothing of it is queued any more when the queue has got to `finished`.
  bool is_over(Which which, IoTicket finished) const noexcept;

  /// Where writes are pending, oldest first.
  std::vector<Extent> pending() const;
  bool has_pending() const noexcept { return !pending_.empty(); }
  /// From the first to the last such byte; ends below 0 where there is none.
  Extent pending_hull() const noexcept;

  /// As if a unit of write `operation` had failed.
  void fail(const Error& error, const void* owner, std::int64_t operation);
  /// Why a write is not in the file, whoever has taken the failure; nothing: no unit of it was
  /// lost.
  std::optional<Error> lost(const void* owner, std::int64_t operation) const;
  /// The failure that has not been taken yet, with the number of writes that were dropped after it
  /// in its text. Afterwards there is none, and writes are carried out again.
  std::optional<Error> take_failure();

  /// Keeps in `hull`, which must stay until unpublish(), where writes are pending: more as long as
  /// some are, nothing when none is.
  void publish(SharedExtent& hull);
  void unpublish(SharedExtent& hull) noexcept;
  /// Writes will be queued there, whose bytes others have handed over already: they are published
  /// from now on until retract(), by when the writes are queued. They are not pending().
  void announce(Extent extent);
  void retract(Extent extent) noexcept;

  /// Something was buffered since the last mark_synced().
  bool has_unsynced() const noexcept { return unsynced_; }
  /// After sync or close: nothing has to be reported at the end of the process.
  void mark_synced() noexcept { unsynced_ = false; }
  /// In a forked child: all of that is the parent's.
  void forget();

 private:
  struct Write {
    IoTicket ticket;
    Extent extent;
  };
  struct Lost {
    Error failure;  // of a unit of this write, or of an earlier one, after which it was dropped
    std::int64_t failed_operation;
  };
  void withdraw_if_over() noexcept;

  std::deque<Write> pending_;  // oldest first
  std::vector<Extent> announced_;
  std::vector<SharedExtent*> published_;
  IoTicket last_write_ = 0, last_read_ = 0;  // of its newest units
  std::optional<Error> failure_;             // the first that nobody has taken
  std::int64_t failed_operation_ = 0, dropped_ = 0, dropped_bytes_ = 0;
  bool unsynced_ = false;
  std::map<std::pair<const void*, std::int64_t>, Lost> lost_;  // writes, by owner and operation
};

}  // namespace penstock
