// Slots: a fixed number of message buffers with their requests. If none is free, the caller waits
// for one to complete, so memory is bounded.
#pragma once

#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "mpi/transport.hpp"

namespace penstock {

class Slots {
 public:
  /// Memory is allocated on first use. `transport` may be null if no message is ever sent.
  Slots(Transport* transport, int tag, int count, std::int64_t slot_bytes, BufferPool& pool,
        MemoryGauge* gauge);
  Slots(const Slots&) = delete;
  ~Slots();

  std::int64_t slot_bytes() const noexcept { return slot_bytes_; }
  bool has_free() const noexcept { return !free_.empty(); }
  bool idle() const noexcept { return free_.size() == requests_.size(); }
  int take();
  std::byte* bytes(int slot);
  void send(int slot, const std::byte* from, std::int64_t bytes, int to);
  void receive(int slot, std::byte* into, std::int64_t bytes, int from);
  void release(int slot);

  std::int64_t messages() const noexcept { return messages_; }
  std::int64_t bytes_sent() const noexcept { return bytes_sent_; }

 private:
  friend bool test_some(const std::vector<Slots*>& pools,
                        std::vector<std::pair<Slots*, int>>& done);

  Transport* transport_;
  int tag_;
  std::int64_t slot_bytes_;
  BufferPool& pool_;
  MemoryGauge* gauge_;
  Buffer memory_;
  std::vector<Transport::Request> requests_;
  std::vector<int> completed_;
  std::vector<int> free_;
  std::int64_t messages_ = 0, bytes_sent_ = 0;
};

/// Appends the slots whose messages have completed since; they stay taken until released. False if
/// no message is in flight.
bool test_some(const std::vector<Slots*>& pools, std::vector<std::pair<Slots*, int>>& done);

}  // namespace penstock
