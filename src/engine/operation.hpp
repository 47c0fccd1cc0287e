// Operation: one collective read or write, from its call to its last byte. It is resumed by
// advance(), which never waits for another rank; blocking calls resume it until it is over
// (mpi/drive.hpp). Steps:
//   1. the request is located in the file; an error in it is kept, not thrown
//   2. agree on entry: demands joined, common arguments compared, errors shared
//   3. plan and route: the same values on every rank
//   4. move the bytes: independent (direct, sieved) or collective (gather, two-phase, extended)
//   5. agree on exit
// Every rank does 2 exactly once, and 5 if anything is left after the call that began it.
//
// The route (plan/route.hpp) determines when it has begun, which is when the call returns:
//   now, reported_at_end  after 5; with the second, errors are reported by the operation's end
//   buffered          after 4: the bytes are in active buffers. If there is a handle, 5 follows
//                     when they are written; else the next call reports errors. If posted, 5
//                     follows at once: all ranks' bytes are copied then
//   ahead             in the middle of 4: the exchange follows when the bytes are in memory
//   aside             before 4, which the I/O thread does
//
// An independent operation skips 2 and 5: it is planned for this rank alone, by direct or sieved.
//
// Operations of one file may be in flight together. They begin one after the other, and so do their
// exchanges, which share memory; both in the order of their calls, which all ranks have alike.
// Hence there is no circular wait. The rest happens in any order.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "engine/buffering.hpp"
#include "engine/context.hpp"
#include "engine/exchanges.hpp"
#include "plan/route.hpp"

namespace penstock {

class Operation : public std::enable_shared_from_this<Operation> {
 public:
  /// `background`: empty for a blocking call. `early`: an error in this rank's arguments.
  /// Independent operations need no other rank and agree with none.
  Operation(OpenFile& file, Access access, const Hints& hints, std::optional<Background> background,
            std::optional<Error> early, Company company = Company::collective);
  ~Operation();
  /// The caller does not wait while it begins. A write takes the route of a blocking one, and ends
  /// once all ranks' bytes are copied. Before the first advance().
  void post() noexcept;
  /// What all ranks must pass alike.
  static CallKind kind(Direction direction, std::optional<Background> background);

  /// Resumes it as far as possible without waiting. Returns true when it has ended. May read and
  /// write the file.
  bool advance();
  /// How often it has been resumed, and what it waits for now.
  std::int64_t steps() const noexcept { return running_ ? running_->steps() : 0; }
  Expect expects() const noexcept { return running_ ? running_->expects() : Expect::notification; }

  /// The call that began it may return.
  bool has_begun() const noexcept { return begun_; }
  /// During that call, which throws the error.
  bool has_failed_to_begin() const noexcept { return failed_to_begin_; }
  bool has_ended() const noexcept { return ended_; }
  /// User memory is free.
  bool is_copied() const noexcept { return copied_ || ended_; }
  /// Whether is_copied() depends on this rank's I/O thread alone.
  bool is_aside() const noexcept { return begun_ && route_ == Route::aside; }
  /// What remains depends only on other ranks, apart from the copies of a read.
  bool is_ready();
  /// From here on it calls MPI, unlike one within a node: threads that must not do so leave it
  /// alone.
  bool uses_messages() const noexcept { return uses_messages_; }
  /// The error, if any. Once an operation has ended, the class is the same on every rank.
  const std::optional<Error>& error() const noexcept { return error_; }
  /// Somebody waits for its end, which reports background errors; the next call does not repeat
  /// them.
  void ask() noexcept { asked_for_ = true; }
  void mark_reported();
  /// It will never end, and releases everything of the file. After the file's last unit.
  void abandon();

  std::int64_t call() const noexcept { return context_.channel.call.number; }
  const Access& access() const noexcept { return access_; }
  const Plan& plan() const noexcept { return plan_; }
  /// Bytes that it moves; once begun, without what lies beyond the end of the file of a read.
  std::int64_t bytes() const noexcept { return access_.file.bytes(); }
  /// The time in which it was running, and in between.
  const TimeParts& parts() const noexcept { return context_.record.parts; }
  /// Counts since the last query.
  Statistics take_counts() noexcept { return context_.take_counts(); }

 private:
  Task<> run();
  Task<> begin();
  Task<> begin_alone();
  std::unique_ptr<RangeLock> lock_whole();
  Task<> await_what_it_could_miss();
  Task<> finish();
  std::optional<Error> locate(Demand& demand);
  void prepare_buffering();
  bool can_overtake_nothing() const;
  bool could_be_mapped() const;
  bool is_slow() const;
  bool sieves(const Demand& demand) const;
  std::int64_t room_in_buffer() const;
  void look_for_memory(Demand& demand) const;
  void check_memory(const Demand& all) const;
  void decide(const Demand& all);
  Task<> take_room_in_node(const Demand& all);
  Task<> leave_messages_to_the_program(const Demand& all);
  Task<> order_after_pending(const Demand& all);
  Task<> start(const Demand& all);
  Extent will_queue(const Demand& all) const;
  Task<> move_collectively(const Demand& all);
  void note_cache_speed(const Demand& all);
  Task<> agree(std::optional<Error> error);
  Task<> keep_for_end(std::optional<Error> error);
  Task<> read_ahead(const Demand& all);
  Task<> exchange_what_was_read();
  Task<> await_own_units();
  std::optional<Error> fate_in_background();
  void set_aside();
  void warm_page_cache();
  void count_memory();
  /// The program stays in the call until it has ended.
  bool blocks() const noexcept { return !asked_.background && !posted_; }
  bool can_queue_up() const noexcept { return asked_.leaves_storage() && !access_.writes(); }

  OpenFile& file_;
  Context context_;
  Access access_;
  Hints hints_;
  Asked asked_;
  Company company_;
  std::optional<Error> early_;
  Route route_ = Route::now;
  Plan plan_;
  std::int64_t number_ = 0;           // of the write in this file
  std::optional<Prepared> prepared_;  // for a read on route `ahead`
  IoTicket ticket_ = 0;               // the newest unit
  std::optional<AsideMove> aside_;    // the I/O thread's until its unit has ended
  std::optional<Error> error_;
  // Read by other threads than the one that resumes it.
  std::atomic<bool> begun_ = false, copied_ = false, ended_ = false;
  bool uses_messages_ = false;
  bool posted_ = false, failed_to_begin_ = false, asked_for_ = false;
  std::optional<Running<void>> running_;
};

/// Each rank moves its own bytes, without the others.
void move_direct(Context& context, const Access& access, const Hints& hints);
/// For a read: copies out of the mapped file. Returns false if that is not possible.
bool move_mapped(Context& context, const Access& access);
void move_sieved(Context& context, const Access& access, const Hints& hints);
/// The ranks exchange bytes and only aggregators access the file. The second throws only this
/// rank's own errors, after it has done its part for the others.
Task<Prepared> begin_collectively(Context& context, const Access& access, const Plan& plan,
                                  const Hints& hints, const Demand& all);
Task<> end_collectively(Context& context, const Access& access, const Plan& plan,
                        Prepared& prepared);

/// Sets up the memory of the node exchange as this plan needs it. Collective; false on all ranks if
/// there is none. `arenas`: the ranks' active buffers, too.
Task<bool> make_room(Context& context, const Plan& plan, bool arenas);
/// Upper bound of the node memory that it would allocate; the same on every rank.
std::int64_t new_room(const Context& context, const Plan& plan);

}  // namespace penstock
