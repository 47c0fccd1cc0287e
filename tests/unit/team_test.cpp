// Which ranks of a node are notified: a sleeping rank checks only then, or after a while.
#include "mpi/team.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "base/task.hpp"

using namespace penstock;

namespace {

struct Notifications : testing::Test {
  std::vector<std::unique_ptr<Team>> teams = Team::in_one_process({0, 0, 0});
  std::uint32_t notifications(std::size_t rank) const {
    return teams[rank]->own_mailbox().event.notifications();
  }
};

TEST_F(Notifications, ComeFromWhoLeaves) {
  const std::uint32_t before[] = {notifications(0), notifications(2)};
  teams[1]->leave(1);
  EXPECT_GT(notifications(0), before[0]);
  EXPECT_GT(notifications(2), before[1]);
}

TEST_F(Notifications, ComeFromWhoGivesAPermitBackThatOthersTriedToGet) {
  ASSERT_TRUE(teams[0]->try_permit(1));
  ASSERT_FALSE(teams[2]->try_permit(1));
  const std::uint32_t before[] = {notifications(1), notifications(2)};
  teams[0]->return_permit();
  EXPECT_EQ(notifications(1), before[0]) << "it has not tried";
  EXPECT_GT(notifications(2), before[1]);
  EXPECT_TRUE(teams[2]->try_permit(1));
}

TEST_F(Notifications, ComeFromWhoEndsAMeeting) {
  std::deque<Running<bool>> meetings;
  const std::uint32_t before[] = {notifications(0), notifications(1)};
  for (const auto& team : teams) meetings.emplace_back(team->meet(0)).advance();
  EXPECT_GT(notifications(0), before[0]);
  EXPECT_GT(notifications(1), before[1]);
  for (Running<bool>& meeting : meetings) EXPECT_TRUE(meeting.advance());
}

}  // namespace
