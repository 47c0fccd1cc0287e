#include "engine/slots.hpp"

namespace penstock {

Slots::Slots(Transport* transport, int tag, int count, std::int64_t slot_bytes, BufferPool& pool,
             MemoryGauge* gauge)
    : transport_(transport),
      tag_(tag),
      slot_bytes_(slot_bytes),
      pool_(pool),
      gauge_(gauge),
      requests_(static_cast<std::size_t>(count)) {
  for (int slot = count; slot-- > 0;) free_.push_back(slot);
}

Slots::~Slots() {
  // Requests are left only after an exception (a defect); their memory must outlive them.
  for (Transport::Request& request : requests_)
    if (request.active()) transport_->cancel(request);
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
  requests_[static_cast<std::size_t>(slot)] =
      transport_->send({from, static_cast<std::size_t>(bytes)}, to, tag_);
  ++messages_;
  bytes_sent_ += bytes;
}

void Slots::receive(int slot, std::byte* into, std::int64_t bytes, int from) {
  requests_[static_cast<std::size_t>(slot)] =
      transport_->receive({into, static_cast<std::size_t>(bytes)}, from, tag_);
}

void Slots::release(int slot) {
  free_.push_back(slot);
}

bool test_some(const std::vector<Slots*>& pools, std::vector<std::pair<Slots*, int>>& done) {
  bool any = false;
  for (Slots* pool : pools) {
    if (pool->idle()) continue;
    pool->completed_.clear();
    any = pool->transport_->test_some(pool->requests_, pool->completed_) || any;
    for (const int slot : pool->completed_) done.emplace_back(pool, slot);
  }
  return any;
}

}  // namespace penstock
