#include <algorithm>

#include <penstock/error.hpp>

#include "base/checked.hpp"
#include "mpi/communicator.hpp"

namespace penstock {
namespace {

/// Takes one waiting letter, if there is one.
bool receive_one(const Communicator& comm, int tag, std::vector<Letter>& received) {
  int waiting = 0;
  MPI_Status status;
  MPI_Message message = MPI_MESSAGE_NULL;
  Communicator::check(MPI_Improbe(MPI_ANY_SOURCE, tag, comm.handle(), &waiting, &message, &status),
                      "MPI_Improbe");
  if (!waiting) return false;
  int count = 0;
  MPI_Get_count(&status, MPI_INT64_T, &count);
  Letter letter{status.MPI_SOURCE, std::vector<std::int64_t>(static_cast<std::size_t>(count))};
  Communicator::check(
      MPI_Mrecv(letter.words.data(), count, MPI_INT64_T, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
  received.push_back(std::move(letter));
  return true;
}

}  // namespace

std::vector<Letter> deliver(const Communicator& comm, const std::vector<Letter>& letters, int tag) {
  std::vector<Letter> received;
  std::vector<MPI_Request> sends;
  for (const Letter& letter : letters) {
    if (letter.rank == comm.rank()) {
      received.push_back(letter);
      continue;
    }
    // Synchronous mode: completion means that the receiver has it, so that the barrier below,
    // entered once all own letters have arrived, ends only after every letter has.
    sends.emplace_back();
    Communicator::check(MPI_Issend(letter.words.data(), checked_cast<int>(letter.words.size()),
                                   MPI_INT64_T, letter.rank, tag, comm.handle(), &sends.back()),
                        "MPI_Issend");
  }
  if (!comm.alone()) {
    MPI_Request barrier = MPI_REQUEST_NULL;
    Wait wait;
    for (int done = 0; !done;) {
      const bool busy = receive_one(comm, tag, received);
      if (barrier == MPI_REQUEST_NULL) {
        int arrived = 0;
        Communicator::check(MPI_Testall(static_cast<int>(sends.size()), sends.data(), &arrived,
                                        MPI_STATUSES_IGNORE),
                            "MPI_Testall");
        if (arrived) Communicator::check(MPI_Ibarrier(comm.handle(), &barrier), "MPI_Ibarrier");
      } else {
        Communicator::check(MPI_Test(&barrier, &done, MPI_STATUS_IGNORE), "MPI_Test");
      }
      if (busy) wait.restart();
      else if (!done) wait.poll();
    }
  }
  std::sort(received.begin(), received.end(),
            [](const Letter& a, const Letter& b) { return a.rank < b.rank; });
  return received;
}

}  // namespace penstock
