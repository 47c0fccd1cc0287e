#include "storage/ring.hpp"

namespace penstock {

int Ring::open(unsigned depth) {
  const int code = ::io_uring_queue_init(depth, &ring_, 0);
  if (code < 0) return -code;
  open_ = true;
  io_uring_probe* probe = ::io_uring_get_probe_ring(&ring_);
  // Linux 5.6, which has this operation, is needed: lists of parts may be modified once they are
  // submitted.
  const bool recent = probe != nullptr && ::io_uring_opcode_supported(probe, IORING_OP_READ);
  ::io_uring_free_probe(probe);
  return recent ? 0 : ENOSYS;
}

void Ring::push(Direction direction, int fd, Parts memory, std::int64_t offset, void* owner) {
  io_uring_sqe* entry = ::io_uring_get_sqe(&ring_);
  const auto count = static_cast<unsigned>(memory.size());
  const auto at = static_cast<std::uint64_t>(offset);
  if (direction == Direction::read) ::io_uring_prep_readv(entry, fd, memory.data(), count, at);
  else ::io_uring_prep_writev(entry, fd, memory.data(), count, at);
  ::io_uring_sqe_set_data(entry, owner);
}

void Ring::wait() {
  io_uring_cqe* entry = nullptr;
  ::io_uring_wait_cqe(&ring_, &entry);
}

Ring::Answer Ring::next_answer() {
  io_uring_cqe* entry = nullptr;
  if (::io_uring_peek_cqe(&ring_, &entry) != 0 || entry == nullptr) return {nullptr, 0};
  const Answer answer{::io_uring_cqe_get_data(entry), entry->res};
  ::io_uring_cqe_seen(&ring_, entry);
  return answer;
}

}  // namespace penstock
