// Operation: one collective read or write, from its call to its last byte. It is resumed by
// advance(), which never waits for another rank; blocking calls resume it until it is over
// (mpi/drive.hpp). What it does:
//   1. the request is located in the file; what is wrong with it is kept, not thrown
//   2. agree on entry: demands joined, common arguments compared, errors shared
//   3. plan and route: the same values on every rank
//   4. move the bytes: independent (direct, sieved) or collective (gather, two-phase, extended)
//   5. agree on exit
// Every rank does 2 exactly once, and 5 where something happens after the call that began it.
//
// Its route (plan/route.hpp) says where its beginning is over, which is when that call returns:
//   now, told_at_end  after 5; by the second, what goes wrong is reported by its end
//   buffered          after 4: the bytes are in active buffers. 5 comes when they are written, if
//                     somebody has a handle; else what goes wrong is reported by the next call.
//                     Of one that was posted 5 comes at once: all ranks' bytes are copied then
//   ahead             in the middle of 4: the exchange comes when the bytes are in memory
//   aside             before 4, which is the I/O thread's
//
// An independent operation is the same without 2 and 5: it is planned for this rank alone, and by
// direct or sieved.
//
// Operations of one file are in flight together. Their beginnings follow each other, and so do
// their exchanges, which share memory; both in the order of their calls, which is that of all
// ranks. Hence none waits for another in a circle. The rest happens in any order.
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
  /// `background`: none for a blocking call. `early`: what was wrong with the arguments of this
  /// rank. Independent ones are of this rank alone: they need no other rank, and agree with none.
  Operation(OpenFile& file, Access access, const Hints& hints, std::optional<Background> background,
            std::optional<Error> early, Company company = Company::collective);
  ~Operation();
  /// Nobody waits while it begins. A write has the route of a blocking one, and ends once all
  /// ranks' bytes are copied. Before the first advance().
  void post() noexcept;
  /// What all ranks must mean alike.
  static CallKind kind(Direction direction, std::optional<Background> background);

  /// Resumes it, as far as it gets without waiting. True: to the end. May read and write the file.
  bool advance();
  /// How often it has been resumed, and what it waits for now.
  std::int64_t steps() const noexcept { return running_ ? running_->steps() : 0; }
  Expect expects() const noexcept { return running_ ? running_->expects() : Expect::ring; }

  /// The call that began it may return.
  bool has_begun() const noexcept { return begun_; }
  /// In that call: it throws what went wrong.
  bool has_failed_to_begin() const noexcept { return failed_to_begin_; }
  bool has_ended() const noexcept { return ended_; }
  /// User memory is free.
  bool is_copied() const noexcept { return copied_ || ended_; }
  /// Whether that depends on this rank's I/O thread alone.
  bool is_aside() const noexcept { return begun_ && route_ == Route::aside; }
  /// What is left depends on other ranks alone, but for the copies of a read.
  bool is_ready();
  /// From here on it calls MPI, unlike one within a node: a thread that must not leaves it alone.
  bool uses_messages() const noexcept { return uses_messages_; }
  /// What went wrong. Of an operation that has ended the same class on every rank.
  const std::optional<Error>& error() const noexcept { return error_; }
  /// Somebody waits for its end, which reports what went wrong in the background; the next call
  /// does not report it again.
  void ask() noexcept { asked_for_ = true; }
  void tell();
  /// It will never end, and holds nothing of the file any more. After the file's last unit.
  void abandon();

  std::int64_t call() const noexcept { return context_.channel.call.number; }
  const Access& access() const noexcept { return access_; }
  const Plan& plan() const noexcept { return plan_; }
  /// Bytes that it moves; of one that has begun what is left of a read where the file ends.
  std::int64_t bytes() const noexcept { return access_.file.bytes(); }
  /// Of the time in which it was gone on with, and in between.
  const TimeParts& parts() const noexcept { return context_.record.parts; }
  /// What was counted since it was asked last.
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
  /// The program is in the call until it has ended.
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
  std::int64_t number_ = 0;           // of the write
  std::optional<Prepared> prepared_;  // of a read that is ahead
  IoTicket ticket_ = 0;               // its newest unit
  std::optional<AsideMove> aside_;    // the I/O thread's until that unit has ended
  std::optional<Error> error_;
  // Other threads than the one that resumes it may look at these.
  std::atomic<bool> begun_ = false, copied_ = false, ended_ = false;
  bool uses_messages_ = false;
  bool posted_ = false, failed_to_begin_ = false, asked_for_ = false;
  std::optional<Running<void>> running_;
};

/// Each rank moves its own bytes, without the others.
void move_direct(Context& context, const Access& access, const Hints& hints);
/// Of a read: copies out of the mapped file. False where that does not work.
bool move_mapped(Context& context, const Access& access);
void move_sieved(Context& context, const Access& access, const Hints& hints);
/// The ranks exchange bytes and only aggregators touch the file. The second throws only what
/// happened on this rank, after it has done its part for the others.
Task<Prepared> begin_collectively(Context& context, const Access& access, const Plan& plan,
                                  const Hints& hints, const Demand& all);
Task<> end_collectively(Context& context, const Access& access, const Plan& plan,
                        Prepared& prepared);

/// The memory of the node exchange, as this plan wants it. Collective; false on all ranks where it
/// cannot be had. `arenas`: the ranks' active buffers, too.
Task<bool> make_room(Context& context, const Plan& plan, bool arenas);
/// Bytes of memory of the node that it would make anew, at most; the same on every rank.
std::int64_t new_room(const Context& context, const Plan& plan);

}  // namespace penstock
