// InFlight: the operations of one open file that have begun and not ended. They are carried out in
// the order in which they began, and those for whose end the ranks have to meet end in that order,
// too, whatever the order of the waits: so ranks that wait for different ones meet all the same.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include <penstock/handle.hpp>

#include "engine/operation.hpp"

namespace penstock {

class InFlight : public Unended {
 public:
  struct Begun {
    std::shared_ptr<Operation> operation;
    Worker::Ticket ticket = 0;   // of its begin, where a thread does that
    std::optional<Error> error;  // of what was done for it before its wait()
  };

  explicit InFlight(Context& context) : context_(context) { context_.unended = this; }
  InFlight(const InFlight&) = delete;
  ~InFlight() override {
    thread_.wait_for_all();
    context_.unended = nullptr;
  }

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
  /// Collective, in the first half of close: the same for all reads, and for all that has begun.
  /// Errors stay with what begin() returned.
  void end_reads();
  void end_everything();
  /// No thread of this rank uses the file any more.
  void await_threads() { thread_.wait_for_all(); }
  /// Forgets what will never end: the handles know what has become of it. After the last unit.
  void abandon() noexcept;

  std::int64_t oldest() override;
  void end_oldest() override { end_first(nullptr); }

 private:
  void require_threads();
  void keep(const std::shared_ptr<Begun>& begun);
  void begin_in_thread(const std::shared_ptr<Begun>& begun, const Placement& placement,
                       const std::optional<Error>& early);
  std::shared_ptr<Begun> first();
  void end_first(const Begun* asked);
  template <class Holds>
  bool any(Holds&& holds);
  void end_exchanges();

  Context& context_;
  bool threads_allowed_ = false;
  std::mutex mutex_;                          // of begun_: the thread ends operations, too
  std::deque<std::shared_ptr<Begun>> begun_;  // oldest first
  Worker thread_;                             // of Background::all
};

}  // namespace penstock
