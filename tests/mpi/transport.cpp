// Messages between ranks (src/mpi/transport.hpp). Part of the program `groups`.
#include <optional>

#include "mpi/transport.hpp"
#include "mpi_main.hpp"

namespace ps = penstock;
using mpi_test::rank;
using mpi_test::size;

namespace {

/// The exchange of descriptors ends when all have been received: sending alone is not sufficient.
TEST(MpiTransport, ASynchronousSendIsCompleteOnceItIsReceived) {
  if (size() == 1) GTEST_SKIP() << "two ranks are needed";
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const auto transport = ps::make_mpi_transport(comm);
  const std::int64_t words[] = {4, 5};
  ps::Transport::Request sent;
  if (rank() == 0) {
    sent = transport->send_synchronously(std::as_bytes(std::span(words)), 1, 7);
    bool complete = false;
    for (int i = 0; i < 1000; ++i) complete = transport->test(sent);
    EXPECT_FALSE(complete) << "nobody has received it";
  }
  mpi_test::barrier();
  std::optional<ps::RequestDescriptor> received;
  while (rank() == 1 && !received) received = transport->take_descriptor(7);
  if (received) {
    EXPECT_EQ(received->words, std::vector<std::int64_t>(words, words + 2));
  }
  while (!transport->test(sent)) continue;
  mpi_test::barrier();
  MPI_Comm_free(&comm);
}

}  // namespace
