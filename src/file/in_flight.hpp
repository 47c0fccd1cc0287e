// InFlight: the operations of one open file that have begun and not ended. A rank that waits for
// one of them resumes all, so ranks that wait for different operations do not deadlock.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include <penstock/handle.hpp>

#include "engine/operation.hpp"
#include "mpi/drive.hpp"

namespace penstock {

/// One rank's request in a call.
struct ByteRequest {
  Access access;
  std::optional<Error> error = std::nullopt;  // found so far: reported by the agreement
  std::optional<Hints> hints = std::nullopt;  // instead of the file's
  Company company = Company::collective;
};

class InFlight {
 public:
  /// An operation, and what its handle has not reported yet.
  struct Begun final : Operation {
    using Operation::Operation;

    bool taken = false;           // it has ended, and its error was copied to `thrown`
    std::optional<Error> thrown;  // by the handle, when it is next used
    Statistics counts;            // not yet in any call's statistics
  };
  using Count = std::function<void(const Statistics&)>;

  /// `count` is called with the counts of operations.
  InFlight(OpenFile& file, Count count)
      : file_(file), count_(std::move(count)), thread_(file.background.queue_of_calls()) {}
  InFlight(const InFlight&) = delete;
  ~InFlight() { thread_->drain(); }

  /// Runs an operation until the call that began it returns. Collective, unless the request needs
  /// no other rank.
  std::shared_ptr<Begun> run(ByteRequest request, const Hints& of_file);
  std::shared_ptr<Begun> begin(ByteRequest request, const Hints& of_file, Background background);
  /// The same without waiting for other ranks: it is resumed whenever this rank waits for or
  /// queries anything of the file. Calls are still numbered alike on all ranks.
  std::shared_ptr<Begun> post(ByteRequest request, const Hints& of_file);
  /// Collective if the operation is. Throws its error, once.
  void end(Begun& begun);
  bool is_copied(Begun& begun, bool wait);
  /// Resumes what is in flight. Returns whether the rest of this operation depends on other ranks
  /// alone.
  bool is_ready(Begun& begun);
  /// The same; returns whether it has ended.
  bool has_ended(Begun& begun);

  /// Runs another task to its end. Operations in flight progress meanwhile, since other ranks may
  /// wait for them before they come.
  void complete(Task<Demand> task);
  /// Collective: on return all operations have ended. Errors stay with the handles.
  void end_everything();
  /// The same for all operations up to the last read.
  void end_reads();
  /// No thread of this rank uses the file any more.
  void await_threads() { thread_->drain(); }
  /// Abandons all operations in flight, which can never end; their handles keep the errors. Only
  /// after the file's last unit has ended: units use what the operations own.
  void abandon() noexcept;
  /// For an independent call that reads or writes in `range`.
  InCall::Awaited awaited_for(Extent range) const;
  /// The call that began the oldest; 0: nothing is in flight.
  std::int64_t oldest() const noexcept;

 private:
  /// Takes everything of the request but its hints, which `hints` may refer to.
  std::shared_ptr<Begun> add(ByteRequest&& request, const Hints& hints,
                             std::optional<Background> background);
  template <class Resume>
  void drive(Resume&& resume);
  template <class Over>
  void resume_until(Over&& over);
  Progress resume();
  void take(Begun& begun);
  void take_ended();
  void end_first();
  bool thread_is_busy() { return last_ticket_ != 0 && !thread_->is_done(last_ticket_); }
  void begin_in_thread(const std::shared_ptr<Begun>& begun, const Placement& placement);
  void require_threads();

  OpenFile& file_;
  Count count_;
  bool threads_allowed_ = false;
  std::deque<std::shared_ptr<Begun>> begun_;  // oldest first
  const std::shared_ptr<IoQueue> thread_;     // for Background::all
  IoTicket last_ticket_ = 0;
};

}  // namespace penstock
