#include "mpi/call.hpp"

#include <array>

#include "mpi/communicator.hpp"

namespace penstock {
namespace {

constexpr std::array names{"none",
                           "open",
                           "write",
                           "read",
                           "write with background none",
                           "write with background storage",
                           "write with background all",
                           "read with background none",
                           "read with background storage",
                           "read with background all",
                           "wait",
                           "sync",
                           "close",
                           "file_size",
                           "truncate",
                           "allocate",
                           "set_view",
                           "set_info",
                           "set_atomicity",
                           "seek_shared",
                           "attributes or another call of rank 0",
                           "append",
                           "open without a communicator",
                           "a call with arguments that cannot be read"};

thread_local InCall* innermost = nullptr;

}  // namespace

std::string Call::text() const {
  std::string text = names[static_cast<std::size_t>(kind)];
  if (kind == CallKind::wait) return text + " for call " + std::to_string(number);
  if (number > 0) text += " (call " + std::to_string(number) + ")";
  return text;
}

InCall::InCall(const Communicator& comm, const std::string& path, Call call, Awaited awaited)
    : comm_(comm), path_(path), call_(call), awaited_(std::move(awaited)), outer_(innermost) {
  innermost = this;
  show();
}

InCall::~InCall() {
  innermost = outer_;
  Team* const team = comm_.team();
  if (team == nullptr) return;
  // Only if the mailbox still shows this call: another thread of this rank may have entered a call
  // of this file meanwhile.
  std::int64_t mine = call_.code();
  team->own_mailbox().call.compare_exchange_strong(mine,
                                                   outer_ != nullptr ? outer_->call_.code() : 0);
}

void InCall::set_number(std::int64_t number) noexcept {
  call_.number = number;
  show();
}

void InCall::show() const noexcept {
  Team* const team = comm_.team();
  if (team == nullptr) return;
  team->own_mailbox().call.store(call_.code(), std::memory_order_relaxed);
  team->own_mailbox().last_call.store(call_.code(), std::memory_order_relaxed);
}

InCall* InCall::current() noexcept {
  return innermost;
}

}  // namespace penstock
