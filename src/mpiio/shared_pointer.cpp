#include "mpiio/shared_pointer.hpp"

namespace penstock {

SharedPointer::SharedPointer(const Communicator& comm) {
  Team* const team = comm.team();
  if (comm.alone()) here_ = &own_;
  else if (team != nullptr && team->nodes() == 1) here_ = &team->mailbox(0).shared_pointer;
  if (here_ != nullptr) return;
  const MPI_Aint bytes = comm.rank() == 0 ? sizeof(std::int64_t) : 0;
  std::int64_t* base = nullptr;
  Communicator::check(MPI_Win_allocate(bytes, sizeof(std::int64_t), MPI_INFO_NULL, comm.handle(),
                                       static_cast<void*>(&base), &window_),
                      "MPI_Win_allocate");
  MPI_Win_lock_all(0, window_);
  if (comm.rank() == 0) set(0);
  // Nobody adds to it before.
  MPI_Request request;
  Communicator::check(MPI_Ibarrier(comm.handle(), &request), "MPI_Ibarrier");
  Communicator::wait(request, "MPI_Ibarrier");
}

void SharedPointer::release() {
  if (window_ == MPI_WIN_NULL) return;
  MPI_Win_unlock_all(window_);
  MPI_Win_free(&window_);
}

std::int64_t SharedPointer::fetch(std::int64_t operand, MPI_Op op) {
  std::int64_t before = 0;
  Communicator::check(MPI_Fetch_and_op(&operand, &before, MPI_INT64_T, 0, 0, op, window_),
                      "MPI_Fetch_and_op");
  Communicator::check(MPI_Win_flush(0, window_), "MPI_Win_flush");
  return before;
}

std::int64_t SharedPointer::add(std::int64_t etypes) {
  return here_ != nullptr ? here_->fetch_add(etypes) : fetch(etypes, MPI_SUM);
}

void SharedPointer::set(std::int64_t position) {
  if (here_ != nullptr) here_->store(position);
  else fetch(position, MPI_REPLACE);
}

}  // namespace penstock
