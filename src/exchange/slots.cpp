#include "exchange/slots.hpp"

#include "base/checked.hpp"

namespace penstock {

Slots::Slots(const Communicator& comm, int tag, int count, std::int64_t slot_bytes,
             BufferPool& pool, MemoryGauge* gauge)
    : comm_(comm),
      tag_(tag),
      slot_bytes_(slot_bytes),
      pool_(pool),
      gauge_(gauge),
      requests_(static_cast<std::size_t>(count), MPI_REQUEST_NULL),
      completed_(static_cast<std::size_t>(count)) {
  for (int slot = count; slot-- > 0;) free_.push_back(slot);
}

Slots::~Slots() {
  // Only an exception (a defect) leaves requests behind; their memory must outlive them.
  for (MPI_Request& request : requests_)
    if (request != MPI_REQUEST_NULL) {
      MPI_Cancel(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  pool_.give(BufferPool::Use::messages, std::move(memory_));
}

int Slots::take() {
  const int slot = free_.back();
  free_.pop_back();
  return slot;
}

std::byte* Slots::bytes(int slot) {
  if (memory_.data() == nullptr)
    memory_ = pool_.take(BufferPool::Use::messages,
                         slot_bytes_ * static_cast<std::int64_t>(requests_.size()), gauge_);
  return memory_.data() + slot * slot_bytes_;
}

void Slots::send(int slot, const std::byte* from, std::int64_t bytes, int to) {
  Communicator::check(MPI_Isend(from, checked_cast<int>(bytes), MPI_BYTE, to, tag_, comm_.handle(),
                                &requests_[static_cast<std::size_t>(slot)]),
                      "MPI_Isend");
  ++messages_;
  bytes_sent_ += bytes;
}

void Slots::receive(int slot, std::byte* into, std::int64_t bytes, int from) {
  Communicator::check(MPI_Irecv(into, checked_cast<int>(bytes), MPI_BYTE, from, tag_,
                                comm_.handle(), &requests_[static_cast<std::size_t>(slot)]),
                      "MPI_Irecv");
}

void Slots::release(int slot) {
  free_.push_back(slot);
}

bool test_some(const std::vector<Slots*>& pools, std::vector<std::pair<Slots*, int>>& done) {
  bool any = false;
  for (Slots* pool : pools) {
    if (pool->idle()) continue;
    int count = 0;
    Communicator::check(
        MPI_Testsome(static_cast<int>(pool->requests_.size()), pool->requests_.data(), &count,
                     pool->completed_.data(), MPI_STATUSES_IGNORE),
        "MPI_Testsome");
    if (count == MPI_UNDEFINED) continue;  // taken, but nothing sent
    any = true;
    for (int i = 0; i < count; ++i)
      done.emplace_back(pool, pool->completed_[static_cast<std::size_t>(i)]);
  }
  return any;
}

// Not MPI_Waitsome, see Communicator::wait.
void wait_some(const std::vector<Slots*>& pools, std::vector<std::pair<Slots*, int>>& done) {
  for (Wait wait; test_some(pools, done) && done.empty();) wait.poll();
}

}  // namespace penstock
