#include "chapter.hpp"

namespace {

TEST(DropIn, IsInForce) {
  const chapter::File file("in_force");
  EXPECT_NE(chapter::hint(file, "penstock_aggregator_ranks"), "")
      << "the MPI library's own MPI-IO is at work";
}

}  // namespace

int main(int argc, char** argv) {
  return mpi_test::main(argc, argv);
}
