// Transport: messages between the ranks of a communicator. No call waits for another rank. Programs
// use the MPI implementation; tests and simulations have another, whose ranks are in one process.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace penstock {

/// An encoded request. The receiver does not know in advance whether one comes, or how long it is.
struct RequestDescriptor {
  int rank;  // destination or source
  std::vector<std::int64_t> words;
};

class Transport {
 public:
  /// A message in flight. If a request is dropped while it is active, its memory must never be
  /// reused.
  class Request {
   public:
    bool active() const noexcept { return active_; }

   private:
    friend class Transport;
    bool active_ = false;
    std::uintptr_t handle_ = 0;
  };
  /// One rank's exchange with all others: sizes and offsets in bytes, by rank.
  struct ToAll {
    const std::byte* out = nullptr;
    std::byte* in = nullptr;
    std::vector<int> out_bytes, out_offsets, in_bytes, in_offsets;
  };

  virtual ~Transport() = default;

  virtual Request send(std::span<const std::byte> bytes, int to, int tag) = 0;
  /// Complete only when the other rank has begun to receive it.
  virtual Request send_synchronously(std::span<const std::byte> bytes, int to, int tag) = 0;
  virtual Request receive(std::span<std::byte> into, int from, int tag) = 0;
  /// Collective: all ranks begin these in the same order. `what` must stay valid until it is
  /// complete.
  virtual Request exchange_with_all(const ToAll& what) = 0;
  /// A descriptor that has arrived, from any rank; nothing if there is none.
  virtual std::optional<RequestDescriptor> take_descriptor(int tag) = 0;

  /// Whether it is complete, or not active. If so, it is not active afterwards.
  virtual bool test(Request& request) = 0;
  /// Appends the indices of those that have completed since. False: none is active.
  virtual bool test_some(std::span<Request> requests, std::vector<int>& completed) = 0;
  /// Returns when it is complete or never will be: its memory is free.
  virtual void cancel(Request& request) noexcept = 0;
  /// Lets the library send what it has buffered.
  virtual void work() noexcept = 0;

 protected:
  static Request make(std::uintptr_t handle) noexcept {
    Request request;
    request.active_ = true;
    request.handle_ = handle;
    return request;
  }
  static std::uintptr_t handle_of(const Request& request) noexcept { return request.handle_; }
  static void renew(Request& request, std::uintptr_t handle) noexcept { request.handle_ = handle; }
  static void end(Request& request) noexcept { request.active_ = false; }
};

/// `comm` must live longer, and return errors.
std::unique_ptr<Transport> make_mpi_transport(MPI_Comm comm);

}  // namespace penstock
