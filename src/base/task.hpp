// Task: a function that is suspended where it would have to wait, and resumed later (a C++20
// coroutine). Its driver checks now and then whether the awaited condition holds; a check never
// waits. So one thread drives any number of tasks, and only the driver sleeps.
//
//   Task<int> both(...) {
//     co_await until(Expect::notification, [&] { return first_is_there(); });
//     co_return co_await another_task(...);
//   }
//
// Invariants:
//   1. A task does nothing before it is awaited or driven, and is destroyed with everything it
//      awaits.
//   2. Exceptions of a task, or of a check, are thrown to its awaiter.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

namespace penstock {

/// What ends a wait.
enum class Expect {
  notification,  // another rank or thread notifies this rank's event
  messages,      // MPI has to be called
  meeting,       // as notification; in an agreement, which may be abandoned
  meeting_by_messages
};
constexpr bool by_messages(Expect expect) noexcept {
  return expect == Expect::messages || expect == Expect::meeting_by_messages;
}
constexpr bool may_give_up(Expect expect) noexcept {
  return expect == Expect::meeting || expect == Expect::meeting_by_messages;
}

/// Where a driven task is suspended.
class Strand {
 public:
  using Look = bool (*)(void* awaited);

  void suspend(std::coroutine_handle<> here, Look look, void* awaited,
               const Expect* expect) noexcept {
    at_ = here;
    look_ = look;
    awaited_ = awaited;
    expect_ = expect;
  }
  /// False: the awaited condition does not hold yet.
  bool resume() {
    try {
      if (look_ != nullptr && !look_(awaited_)) return false;
    } catch (...) {
      failure_ = std::current_exception();
    }
    // Both belong to the awaited object, whose lifetime ends when the task is resumed.
    look_ = nullptr;
    expect_ = nullptr;
    at_.resume();
    return true;
  }
  void throw_failure() {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  Expect expects() const noexcept { return expect_ != nullptr ? *expect_ : Expect::notification; }

 private:
  std::coroutine_handle<> at_;
  Look look_ = nullptr;
  void* awaited_ = nullptr;
  const Expect* expect_ = nullptr;
  std::exception_ptr failure_;
};

namespace task {

struct PromiseBase {
  Strand* strand = nullptr;
  std::coroutine_handle<> caller;
  // It runs within the caller's co_await, which then continues without being resumed.
  bool called = false;
  std::exception_ptr failure;

  struct Final {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) noexcept {
      const PromiseBase& promise = ended.promise();
      const bool resumes = promise.caller && !promise.called;
      return resumes ? promise.caller : std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  std::suspend_always initial_suspend() noexcept { return {}; }
  Final final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { failure = std::current_exception(); }
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value;
  void return_value(T result) { value.emplace(std::move(result)); }
  T result() {
    if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
    return std::move(*value);
  }
};

template <>
struct Promise<void> : PromiseBase {
  void return_void() noexcept {}
  void result() {
    if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
  }
};

}  // namespace task

template <class T = void>
class [[nodiscard]] Task {
 public:
  struct promise_type : task::Promise<T> {
    Task get_return_object() noexcept {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  /// Runs the task like a call. False: it has ended without suspending, and the caller continues.
  /// Symmetric transfer there and back would use stack in a loop of such tasks if the compiler does
  /// not make tail calls (sanitizers, no optimisation).
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> caller) {
    promise_type& promise = handle_.promise();
    promise.caller = caller;
    promise.strand = caller.promise().strand;
    promise.called = true;
    handle_.resume();
    promise.called = false;
    return !handle_.done();
  }
  T await_resume() { return handle_.promise().result(); }

 private:
  template <class>
  friend class Running;
  explicit Task(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

/// Suspends the task until `holds()`. The kind of the wait may change meanwhile.
template <class Holds>
class [[nodiscard]] Until {
 public:
  Until(const Expect* expect, Holds holds) : holds_(std::move(holds)), expect_(expect) {}
  Until(Expect expect, Holds holds) : holds_(std::move(holds)), own_(expect), expect_(&own_) {}
  Until(const Until&) = delete;

  bool await_ready() { return holds_(); }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> here) noexcept {
    strand_ = here.promise().strand;
    const auto look = [](void* self) -> bool { return static_cast<Until*>(self)->holds_(); };
    strand_->suspend(here, look, this, expect_);
  }
  void await_resume() {
    if (strand_ != nullptr) strand_->throw_failure();
  }

 private:
  Holds holds_;
  Expect own_ = Expect::notification;
  const Expect* expect_;
  Strand* strand_ = nullptr;
};

template <class Holds>
Until<Holds> until(Expect expect, Holds holds) {
  return Until<Holds>(expect, std::move(holds));
}
template <class Holds>
Until<Holds> until(const Expect* expect, Holds holds) {
  return Until<Holds>(expect, std::move(holds));
}

/// A task together with its driver's state.
template <class T>
class Running {
 public:
  explicit Running(Task<T> task) : task_(std::move(task)) {
    task_.handle_.promise().strand = &strand_;
    strand_.suspend(task_.handle_, nullptr, nullptr, nullptr);
  }
  Running(const Running&) = delete;

  /// Resumes it as far as possible without waiting. True: it has ended.
  bool advance() {
    while (!done() && strand_.resume()) ++steps_;
    return done();
  }
  bool done() const noexcept { return task_.handle_.done(); }
  /// How often it has been resumed.
  std::int64_t steps() const noexcept { return steps_; }
  Expect expects() const noexcept { return strand_.expects(); }
  /// Once, after the task has ended.
  T result() { return task_.handle_.promise().result(); }

 private:
  Strand strand_;
  Task<T> task_;
  std::int64_t steps_ = 0;
};

}  // namespace penstock
