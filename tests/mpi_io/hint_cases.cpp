// The meaning of MPI_Info hints for reads and writes, collective and independent.
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

TEST(MpiHints, WithoutIndependentCallsCollectiveBufferingIsOn) {
  MpiHints hints;
  hints.set({{"romio_no_indep_rw", "TRUE"}, {"romio_cb_read", "DISABLE"}}, 4);
  for (const Direction direction : directions) {
    EXPECT_EQ(hints.of_call(direction, Company::collective).method, Method::extended);
    EXPECT_EQ(hints.of_call(direction, Company::independent).method, Hints().method);
  }
  const InfoText info = hints.in_effect(Hints(), {0});
  EXPECT_EQ(info.at("romio_no_indep_rw"), "true");
  EXPECT_EQ(info.at("romio_cb_read"), "enable");
  hints.set({{"romio_no_indep_rw", "false"}}, 4);
  EXPECT_EQ(hints.of_call(Direction::read, Company::collective).method, Method::direct);
  EXPECT_EQ(hints.of_call(Direction::write, Company::collective).method, Hints().method);
}

TEST(MpiHints, OfRomioAndTheStandardAreToldAsTheyWereGiven) {
  MpiHints hints;
  const InfoText given{{"cb_config_list", "*:2"},      {"cb_block_size", "65536"},
                       {"romio_cb_pfr", "enable"},     {"romio_cb_ds_threshold", "50"},
                       {"romio_ds_read", "disable"},   {"romio_lustre_ds_in_coll", "disable"},
                       {"striping_factor", "8"},       {"striping_unit", "1048576"},
                       {"ind_rd_buffer_size", "4096"}, {"ind_wr_buffer_size", "8192"}};
  hints.set(given, 4);
  Hints effective = hints.of_file();
  const InfoText info = hints.in_effect(effective, {0});
  for (const auto& [name, value] : given) EXPECT_EQ(info.at(name), value) << name;
  EXPECT_TRUE(hints.take_ignored().empty());
}

TEST(MpiHints, OfRomioThatAreMisspelt) {
  MpiHints hints;
  hints.set({{"romio_cb_wirte", "enable"}, {"romio_no_indep", "true"}, {"romio_pvfs2_debug", "1"}},
            4);
  const std::vector<std::string> ignored = hints.take_ignored();
  ASSERT_EQ(ignored.size(), 2U);
  EXPECT_NE(ignored[0].find("romio_cb_wirte is not known; did you mean romio_cb_write?"),
            std::string::npos);
  EXPECT_NE(ignored[1].find("romio_no_indep is not known; did you mean romio_no_indep_rw?"),
            std::string::npos);
  hints.set({{"romio_cb_wirte", "enable"}}, 4);
  EXPECT_TRUE(hints.take_ignored().empty()) << "each is reported once";
}

}  // namespace
}  // namespace penstock
