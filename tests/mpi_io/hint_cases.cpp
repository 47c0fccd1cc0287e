// What hints of MPI_Info mean for reads and writes, collective and independent ones.
#include <gtest/gtest.h>

#include "mpi_io/mpi_hints.hpp"

namespace penstock {
namespace {

constexpr Direction directions[] = {Direction::read, Direction::write};

TEST(MpiHints, OfSievingAreThoseOfOneDirection) {
  MpiHints hints;
  hints.set({{"romio_ds_write", "disable"}, {"romio_ds_read", "enable"}}, 4);
  EXPECT_EQ(hints.of_call(Direction::read, Company::independent).method, Method::sieved);
  EXPECT_EQ(hints.of_call(Direction::write, Company::independent).method, Method::direct);
  for (const Company company : {Company::collective, Company::independent}) {
    EXPECT_EQ(hints.of_call(Direction::write, company).sieve_writes, SieveWrites::never);
    EXPECT_EQ(hints.of_call(Direction::read, company).sieve_writes, Hints().sieve_writes);
  }
  hints.set({{"romio_ds_write", "enable"}}, 4);
  EXPECT_EQ(hints.of_call(Direction::write, Company::collective).sieve_writes, SieveWrites::always);
  EXPECT_EQ(hints.of_call(Direction::write, Company::collective).method, Hints().method);
}

TEST(MpiHints, OfCollectiveBufferingAreThoseOfOneDirection) {
  MpiHints hints;
  hints.set({{"romio_cb_read", "enable"}, {"romio_cb_write", "disable"}}, 4);
  EXPECT_EQ(hints.of_call(Direction::read, Company::collective).method, Method::extended);
  EXPECT_EQ(hints.of_call(Direction::write, Company::collective).method, Method::direct);
  for (const Direction direction : directions)
    EXPECT_EQ(hints.of_call(direction, Company::independent).method, Hints().method);
}

TEST(MpiHints, OfIndependentBuffersAreThoseOfOneDirection) {
  MpiHints hints;
  hints.set({{"ind_rd_buffer_size", "1000"}, {"ind_wr_buffer_size", "2000"}, {"cb_nodes", "9"}}, 4);
  EXPECT_EQ(hints.of_call(Direction::read, Company::independent).buffer_size, 1000);
  EXPECT_EQ(hints.of_call(Direction::write, Company::independent).buffer_size, 2000);
  for (const Direction direction : directions)
    EXPECT_EQ(hints.of_call(direction, Company::collective).buffer_size, Hints().buffer_size);
  EXPECT_EQ(hints.of_file().aggregators, 4) << "there are no more ranks";
}

}  // namespace
}  // namespace penstock
