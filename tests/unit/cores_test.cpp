#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>

#include "base/cores.hpp"
#include "storage_temp_folder.hpp"

using namespace penstock;

namespace {

TEST(Cores, AreThoseOfTheMaskAsFarAsTheQuotaGoes) {
  EXPECT_EQ(Cores(0b1011, 0).count(), 3);
  EXPECT_EQ(Cores(0b1011, 2).count(), 2);
  EXPECT_EQ(Cores(0b1011, 1.5).count(), 2);  // a fraction of a core counts as one
  EXPECT_EQ(Cores(0b1011, 0.1).count(), 1);
  EXPECT_EQ(Cores(0b1011, 8).count(), 3);
  EXPECT_EQ(Cores().count(), 1);
}

TEST(Cores, OfProcessesThatAreBoundToOneEachAddUp) {
  Cores node(0b0001, 0);
  node.join(Cores(0b0100, 0));
  node.join(Cores(0b0100, 0));
  EXPECT_EQ(node.count(), 2);
  node.join(Cores(0b1010, 3));
  EXPECT_EQ(node.count(), 3);
}

TEST(Cores, OfThisProcessAreNotMoreThanItMayRunOn) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  EXPECT_GE(Cores::own().count(), 1);
  EXPECT_LE(Cores::own().count(), CPU_COUNT(&set));
}

class Quota : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  double quota() const { return find_quota(root_.path()); }

 private:
  test::TempFolder root_;
};

TEST_F(Quota, IsNoneWhereNothingIsSaid) {
  EXPECT_EQ(quota(), 0);
  put("/proc/self/cgroup", "nonsense");
  EXPECT_EQ(quota(), 0);
  put("/proc/self/cgroup", "0::/user.slice");
  EXPECT_EQ(quota(), 0);
  put("/sys/fs/cgroup/user.slice/cpu.max", "max 100000");
  EXPECT_EQ(quota(), 0);
}

TEST_F(Quota, OfVersionTwoIsTheLeastOfAllThatTheGroupLiesIn) {
  put("/proc/self/cgroup", "0::/job/step/task");
  put("/sys/fs/cgroup/job/step/task/cpu.max", "max 100000");
  put("/sys/fs/cgroup/job/step/cpu.max", "400000 100000");
  put("/sys/fs/cgroup/job/cpu.max", "600000 100000");
  EXPECT_DOUBLE_EQ(quota(), 4);
  put("/sys/fs/cgroup/job/cpu.max", "150000 100000");
  EXPECT_DOUBLE_EQ(quota(), 1.5);
}

TEST_F(Quota, OfAContainerThatSeesOnlyItsRoot) {
  put("/proc/self/cgroup", "0::/on/the/host");
  put("/sys/fs/cgroup/cpu.max", "200000 100000");
  EXPECT_DOUBLE_EQ(quota(), 2);
}

TEST_F(Quota, OfVersionOne) {
  put("/proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n3:cpuset:/job");
  put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1");
  put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000");
  EXPECT_EQ(quota(), 0);
  put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "300000");
  EXPECT_DOUBLE_EQ(quota(), 3);
}

}  // namespace
