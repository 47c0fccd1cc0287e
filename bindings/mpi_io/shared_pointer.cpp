#include "mpi_io/shared_pointer.hpp"

namespace penstock {

SharedPointer::SharedPointer(const Communicator& comm) {
  Team* const team = comm.team();
  if (comm.alone()) here_ = &own_;
  else if (team != nullptr && team->nodes() == 1) here_ = &team->mailbox(0).shared_pointer;
  if (here_ == nullptr) remote_ = make_remote_number(comm);
}

void SharedPointer::release() {
  if (remote_) remote_->release();
}

std::int64_t SharedPointer::add(std::int64_t etypes) {
  return here_ != nullptr ? here_->fetch_add(etypes) : remote_->add(etypes);
}

void SharedPointer::set(std::int64_t position) {
  if (here_ != nullptr) here_->store(position);
  else remote_->set(position);
}

}  // namespace penstock
