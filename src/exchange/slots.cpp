#include "exchange/slots.hpp"

#include <thread>

#include "base/checked.hpp"

namespace penstock {

Slots::Slots(const Communicator& comm, int tag, int count, std::int64_t slot_bytes,
             MemoryGauge* gauge)
    : comm_(comm),
      tag_(tag),
      slot_bytes_(slot_bytes),
      gauge_(gauge),
      requests_(static_cast<std::size_t>(count), MPI_REQUEST_NULL) {
  for (int slot = count; slot-- > 0;) free_.push_back(slot);
}

Slots::~Slots() {
  // Only an exception (a defect) leaves requests behind; their memory must outlive them.
  for (MPI_Request& request : requests_)
    if (request != MPI_REQUEST_NULL) {
      MPI_Cancel(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

int Slots::take() {
  const int slot = free_.back();
  free_.pop_back();
  return slot;
}

std::byte* Slots::bytes(int slot) {
  if (memory_.data() == nullptr)
    memory_ = Buffer(slot_bytes_ * static_cast<std::int64_t>(requests_.size()), gauge_);
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

void wait_some(const std::vector<Slots*>& pools, std::vector<std::pair<Slots*, int>>& done) {
  std::vector<MPI_Request> pending;
  std::vector<std::pair<Slots*, int>> owner;
  for (Slots* pool : pools)
    for (std::size_t slot = 0; slot < pool->requests_.size(); ++slot)
      if (pool->requests_[slot] != MPI_REQUEST_NULL) {
        pending.push_back(pool->requests_[slot]);
        owner.emplace_back(pool, static_cast<int>(slot));
      }
  if (pending.empty()) return;
  std::vector<int> completed(pending.size());
  int count = 0;
  while (count == 0) {  // not MPI_Waitsome, see Communicator::wait
    Communicator::check(MPI_Testsome(static_cast<int>(pending.size()), pending.data(), &count,
                                     completed.data(), MPI_STATUSES_IGNORE),
                        "MPI_Testsome");
    if (count == 0) std::this_thread::yield();
  }
  for (int i = 0; i < count; ++i) {
    const auto& [pool, slot] =
        owner[static_cast<std::size_t>(completed[static_cast<std::size_t>(i)])];
    pool->requests_[static_cast<std::size_t>(slot)] = MPI_REQUEST_NULL;
    done.emplace_back(pool, slot);
  }
}

}  // namespace penstock
