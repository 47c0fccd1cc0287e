// Permits of a node's ranks: a waiting rank reports who holds them; a process that has ended has
// none.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "mpi/team.hpp"

using namespace penstock;

namespace {

/// Read once, at the first wait.
const bool patience_is_short = ::setenv("PENSTOCK_PATIENCE", "0.3", 1) == 0;

std::int64_t ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(Permits, AreTakenBackFromAProcessThatHasEnded) {
  const auto teams = Team::in_one_process({0, 0});
  teams[0]->take_permit(1);
  EXPECT_FALSE(teams[1]->try_permit(1));
  teams[0]->own_mailbox().process = ended_process();
  teams[1]->take_permit(1);
  EXPECT_FALSE(teams[1]->try_permit(1));
  EXPECT_EQ(teams[0]->own_mailbox().permits, 0);
  teams[1]->return_permit();
  EXPECT_TRUE(teams[1]->try_permit(1));
}

/// Without a wake-up, a waiting rank checks after a while, and first takes back permits of ended
/// processes. A thread without a core for that long does so as well, but not every time.
TEST(Permits, WhoWaitsForOneIsWokenWhenItComesBack) {
  bool woken = false;
  for (int tries = 0; tries < 5 && !woken; ++tries) {
    const auto teams = Team::in_one_process({0, 0, 0});
    teams[0]->take_permit(2);
    teams[1]->take_permit(2);
    teams[1]->own_mailbox().process = ended_process();
    std::thread waits([&] { teams[2]->take_permit(2); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    teams[0]->return_permit();
    waits.join();
    woken = teams[1]->own_mailbox().permits == 1;
  }
  EXPECT_TRUE(woken);
}

TEST(Permits, AreNotTakenFromOneThatIsSlow) {
  ASSERT_TRUE(patience_is_short);
  const auto teams = Team::in_one_process({0, 0, 0});
  teams[1]->take_permit(1);
  teams[1]->own_mailbox().access.begin(4096);
  testing::internal::CaptureStderr();
  std::thread slow([&] {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    teams[1]->return_permit();
  });
  teams[2]->take_permit(1);
  const std::string said = testing::internal::GetCapturedStderr();
  slow.join();
  EXPECT_NE(said.find("rank 2 has waited for"), std::string::npos) << said;
  EXPECT_NE(said.find("rank 1 has one, in one access to storage for"), std::string::npos) << said;
  EXPECT_NE(said.find("(offset 4096)"), std::string::npos) << said;
}

}  // namespace
