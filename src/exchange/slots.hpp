// Slots: a fixed number of message buffers with their MPI requests. Bounded by construction: who
// finds no free slot waits for one to complete.
#pragma once

#include <mpi.h>

#include <vector>

#include "base/buffer.hpp"
#include "mpi/communicator.hpp"

namespace penstock {

class Slots {
 public:
  /// Memory is taken at the first use.
  Slots(const Communicator& comm, int tag, int count, std::int64_t slot_bytes, BufferPool& pool,
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

  const Communicator& comm_;
  int tag_;
  std::int64_t slot_bytes_;
  BufferPool& pool_;
  MemoryGauge* gauge_;
  Buffer memory_;
  std::vector<MPI_Request> requests_;
  std::vector<int> completed_;  // of MPI_Testsome
  std::vector<int> free_;
  std::int64_t messages_ = 0, bytes_sent_ = 0;
};

/// Appends the slots whose messages have completed since; they stay taken until released. False
/// when no message is under way.
bool test_some(const std::vector<Slots*>& pools, std::vector<std::pair<Slots*, int>>& done);
/// Waits until at least one has; returns at once when none is under way.
void wait_some(const std::vector<Slots*>& pools, std::vector<std::pair<Slots*, int>>& done);

}  // namespace penstock
