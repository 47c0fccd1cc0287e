// Whom a rank of a node rings: who sleeps on its bell looks again only then, or after a while.
#include "mpi/team.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "base/task.hpp"

using namespace penstock;

namespace {

struct Rings : testing::Test {
  std::vector<std::unique_ptr<Team>> teams = Team::in_one_process({0, 0, 0});
  std::uint32_t heard(std::size_t rank) const { return teams[rank]->own_mailbox().bell.heard(); }
};

TEST_F(Rings, ComeFromWhoLeaves) {
  const std::uint32_t before[] = {heard(0), heard(2)};
  teams[1]->leave(1);
  EXPECT_GT(heard(0), before[0]);
  EXPECT_GT(heard(2), before[1]);
}

TEST_F(Rings, ComeFromWhoGivesAPermitBackThatOthersTriedToGet) {
  ASSERT_TRUE(teams[0]->try_permit(1));
  ASSERT_FALSE(teams[2]->try_permit(1));
  const std::uint32_t before[] = {heard(1), heard(2)};
  teams[0]->return_permit();
  EXPECT_EQ(heard(1), before[0]) << "it has not tried";
  EXPECT_GT(heard(2), before[1]);
  EXPECT_TRUE(teams[2]->try_permit(1));
}

TEST_F(Rings, ComeFromWhoEndsAMeeting) {
  std::deque<Running<bool>> meetings;
  const std::uint32_t before[] = {heard(0), heard(1)};
  for (const auto& team : teams) meetings.emplace_back(team->meet(0)).advance();
  EXPECT_GT(heard(0), before[0]);
  EXPECT_GT(heard(1), before[1]);
  for (Running<bool>& meeting : meetings) EXPECT_TRUE(meeting.advance());
}

}  // namespace
