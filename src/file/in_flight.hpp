// InFlight: the operations of one open file that have begun and not ended. They are carried out in
// the order in which they began.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include <penstock/handle.hpp>

#include "engine/operation.hpp"

namespace penstock {

class InFlight {
 public:
  struct Begun {
    std::shared_ptr<Operation> operation;
    Worker::Ticket ticket = 0;   // of its begin, where a thread does that
    std::optional<Error> error;  // of what was done for it before its wait()
  };

  explicit InFlight(Context& context) : context_(context) {}
  InFlight(const InFlight&) = delete;
  ~InFlight() { thread_.wait_for_all(); }

  /// Collective: an operation from begin to end, or as far as it goes without storage.
  std::shared_ptr<Operation> run(Access access, const Hints& hints,
                                 const std::optional<Error>& early);
  std::shared_ptr<Begun> begin(Access access, Hints hints, Background background,
                               const std::optional<Error>& early);
  /// Collective.
  void end(Begun& begun);
  bool is_copied(Begun& begun, bool wait);
  bool is_done(Begun& begun);

  /// Collective, before anything else is done with the file: exchanges that have to be done by all
  /// ranks are done, and no thread is in the middle of one.
  void settle();
  /// Collective, before the file is closed: the same for all that has begun. Errors of reads stay
  /// with what begin() returned.
  void end_everything();
  /// No thread of this rank uses the file any more.
  void await_threads() { thread_.wait_for_all(); }
  /// Forgets reads whose end will never come.
  void abandon() noexcept {
    reads_.clear();
    other_reads_.clear();
  }

 private:
  void require_threads(Direction direction);
  void begin_in_thread(const std::shared_ptr<Begun>& begun, const Placement& placement,
                       const std::optional<Error>& early);
  void end_reads(const Begun* last);

  Context& context_;
  bool threads_allowed_ = false;
  std::deque<std::shared_ptr<Begun>> reads_;        // that have an exchange to do, oldest first
  std::deque<std::shared_ptr<Begun>> other_reads_;  // and those that have none
  Worker thread_;                                   // of Background::all
};

}  // namespace penstock
