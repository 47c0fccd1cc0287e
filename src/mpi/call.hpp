// Call: the collective call of a file that a rank is in. Ranks compare it in every agreement, and
// messages about long waits quote it (wait.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace penstock {

class Communicator;

enum class CallKind : std::int32_t {
  none,
  open,
  write,
  read,
  write_begin_none,  // by background none, storage, all: in the order of Background
  write_begin_storage,
  write_begin_all,
  read_begin_none,
  read_begin_storage,
  read_begin_all,
  wait,
  sync,
  close,
  file_size,
  truncate,
  allocate,
  set_view,
  set_info,
  set_atomicity,
  seek_shared,
  on_first_rank,
  append,
  open_alone,  // without a communicator: refused
  unknown,     // unreadable arguments: an error, whichever call the others are in
};

/// `number`: calls of a file are counted from 1, without those on which the ranks disagreed. A wait
/// has the number of the call that began the operation.
struct Call {
  CallKind kind = CallKind::none;
  std::int64_t number = 0;

  std::int64_t code() const noexcept { return number << 8 | static_cast<std::int64_t>(kind); }
  static Call from_code(std::int64_t code) noexcept {
    return {static_cast<CallKind>(code & 0xff), code >> 8};
  }
  /// For messages: "write (call 3)".
  std::string text() const;
  friend bool operator==(const Call&, const Call&) = default;
};

/// While an object of this class exists, its thread is in a call of a file. They nest: a call may
/// first have to end operations in flight, which is a wait within it.
class InCall {
 public:
  /// For a call of this rank alone: describes what it waits for; empty: nothing.
  using Awaited = std::function<std::string()>;

  /// `awaited`: empty if the call is collective.
  InCall(const Communicator& comm, const std::string& path, Call call, Awaited awaited = {});
  InCall(const InCall&) = delete;
  ~InCall();

  const Communicator& comm() const noexcept { return comm_; }
  const std::string& path() const noexcept { return path_; }
  Call call() const noexcept { return call_; }
  const Awaited& awaited() const noexcept { return awaited_; }
  /// The number is known only when the ranks meet.
  void set_number(std::int64_t number) noexcept;
  /// Makes it visible to the ranks of this node.
  void show() const noexcept;

  /// The innermost of this thread; null: none.
  static InCall* current() noexcept;

 private:
  const Communicator& comm_;
  const std::string& path_;
  Call call_;
  Awaited awaited_;
  InCall* outer_;
};

}  // namespace penstock
