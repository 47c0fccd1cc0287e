// Operation: one collective read or write, from agreement to agreement:
//   1. the request is located in the file; what is wrong with it is kept, not thrown
//   2. agree on entry: demands joined, common arguments compared, errors shared
//   3. plan: the same value on every rank
//   4. move the bytes: independent (direct, sieved) or collective (gather, two-phase, extended)
//   5. agree on exit
// Every rank does 2 and 5 exactly once, whatever happens to it in between.
//
// Its route (plan/route.hpp) says which of this begin() does. By `now` all of it; by the others
// what goes wrong after 4 is brought to the next agreement on this file, 2 of the next call or
// end():
//   told_at_end, buffered  leave after 4; buffered writes have their bytes in active buffers then
//   ahead                  stops in the middle of 4, end() does the exchange
//   aside                  leaves 4 to the I/O thread
#pragma once

#include <memory>
#include <optional>

#include "engine/context.hpp"
#include "engine/exchanges.hpp"
#include "plan/route.hpp"

namespace penstock {

class Operation : public std::enable_shared_from_this<Operation> {
 public:
  /// `background`: none for a blocking call; else end() will be called, and may do a part of the
  /// work.
  Operation(Context& context, Access access, const Hints& hints,
            std::optional<Background> background = std::nullopt)
      : context_(context),
        access_(std::move(access)),
        hints_(hints),
        asked_{access_.direction, background, hints.active_buffer_size} {}
  /// What all ranks must mean alike.
  static CallKind kind(Direction direction, std::optional<Background> background);

  /// Collective. `early`: what was wrong with the arguments of this rank. Throws the same error
  /// class on every rank.
  void begin(const std::optional<Error>& early);
  /// Collective: the bytes are in the file, or in user memory. A second call does nothing. `asked`:
  /// somebody waits for this one. Else what went wrong with writes is left to the call that is.
  void end(bool asked = true);

  /// The call that began it, once it has.
  std::int64_t call() const noexcept { return call_; }
  /// The ranks have to meet for its end.
  bool must_meet() const noexcept;
  /// What went wrong with an operation for whose end the ranks need not meet: it has ended.
  std::optional<Error> end_alone();
  /// What its handle has to tell where its end will never come. After the last unit.
  std::optional<Error> fate();
  const Access& access() const noexcept { return access_; }
  const Plan& plan() const noexcept { return plan_; }
  /// User memory is free. After begin().
  bool is_copied();
  void await_copied();
  /// This rank's part is done, but for the exchange of a read.
  bool is_done();
  bool ended() const noexcept { return ended_; }
  /// Its end() has an exchange to do, for which all ranks must come.
  bool has_exchange() const noexcept { return !ended_ && prepared_.has_value(); }

 private:
  Entry prepare(const std::optional<Error>& early);
  std::optional<Error> locate(Demand& demand, const std::optional<Error>& early);
  void settle_buffering();
  bool is_far() const;
  void decide(const Demand& all);
  void settle_order(const Demand& all);
  void start(const Demand& all);
  void move(const Demand& all);
  void leave(const std::optional<Error>& error);
  void keep_for_end(const std::optional<Error>& error);
  void set_aside();
  void read_ahead(const Demand& all);
  void warm_page_cache();
  void count_memory();
  void await_own_units();
  void enter_end(const std::optional<Error>& error);
  void meet_for_end(bool asked);
  void end_exchange(bool asked);

  Context& context_;
  Access access_;
  Hints hints_;
  Asked asked_;
  Route route_ = Route::now;
  bool ended_ = true;  // or has not begun
  Plan plan_;
  std::int64_t call_ = 0;             // of the file, that began it
  std::int64_t number_ = 0;           // of the write
  std::optional<Prepared> prepared_;  // of a split read
  IoTicket ticket_ = 0;               // its newest unit
  std::optional<Error> error_;        // of a read in the I/O thread, or of what end() tells
};

/// Each rank moves its own bytes, without the others.
void move_direct(Context& context, const Access& access, const Hints& hints);
void move_sieved(Context& context, const Access& access, const Hints& hints);
/// The ranks exchange bytes and only aggregators touch the file. The second throws only what
/// happened on this rank, after it has done its part for the others.
Prepared begin_collectively(Context& context, const Access& access, const Plan& plan,
                            const Hints& hints, const Demand& all);
void end_collectively(Context& context, const Access& access, const Plan& plan, Prepared& prepared);

}  // namespace penstock
