// Reading from a mapped file, also if its bytes disappear during the copy.
#include "storage/mapped.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "storage_temp_folder.hpp"
#include "support/random.hpp"

namespace penstock {
namespace {

constexpr std::int64_t page = 4096, pages = 64;

/// By the signal, or by a sanitizer's report of it.
bool ended_by_fault(int status) {
  return WIFSIGNALED(status) ? WTERMSIG(status) == SIGBUS : WEXITSTATUS(status) != 0;
}

class MappedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fd_ = ::open(folder_.file("mapped").c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_GE(fd_, 0);
    bytes_.resize(pages * page);
    std::iota(bytes_.begin(), bytes_.end(), static_cast<unsigned char>(1));
    ASSERT_EQ(::pwrite(fd_, bytes_.data(), bytes_.size(), 0), pages * page);
  }
  void TearDown() override { ::close(fd_); }

  test::TempFolder folder_;
  int fd_ = -1;
  MappedFile file_;
  std::vector<unsigned char> bytes_;
};

TEST_F(MappedTest, GivesTheBytesOfAnyRange) {
  for (const Extent range :
       {Extent{0, pages * page}, Extent{5, 6}, Extent{page - 1, 3 * page + 7}}) {
    std::vector<unsigned char> got(static_cast<std::size_t>(range.length()));
    EXPECT_TRUE(file_.read(
        fd_, range, [&](const std::byte* from) { std::memcpy(got.data(), from, got.size()); }));
    EXPECT_EQ(std::memcmp(got.data(), bytes_.data() + range.begin, got.size()), 0);
  }
}

/// The mapping kept for one range may contain a part of the next, or nothing.
TEST_F(MappedTest, GivesTheBytesOfRangesThatFollowEachOther) {
  test::Random r{std::mt19937_64(1)};
  for (int i = 0; i < 500; ++i) {
    const std::int64_t begin = r.in(0, pages * page - 1);
    const std::int64_t most = std::min(r.pick({page, 9 * page}), pages * page - begin);
    const Extent range{begin, begin + r.in(1, most)};
    EXPECT_TRUE(file_.read(fd_, range, [&](const std::byte* from) {
      EXPECT_EQ(std::memcmp(from, bytes_.data() + range.begin, range.length()), 0) << begin;
    }));
  }
}

TEST_F(MappedTest, ARangeBeyondTheEndIsNotMapped) {
  const auto never = [](const std::byte*) { FAIL(); };
  EXPECT_FALSE(file_.read(fd_, {page, pages * page + 1}, never));
  EXPECT_FALSE(file_.read(fd_, {0, 0}, never));
}

TEST_F(MappedTest, AFileThatIsShortenedMeanwhileIsNoCrash) {
  std::vector<unsigned char> got(static_cast<std::size_t>(pages * page), 0xee);
  EXPECT_FALSE(file_.read(fd_, {0, pages * page}, [&](const std::byte* from) {
    ASSERT_EQ(::ftruncate(fd_, 3 * page), 0);
    std::memcpy(got.data(), from, got.size());
  }));
  EXPECT_EQ(std::memcmp(got.data(), bytes_.data(), 3 * page), 0);
  EXPECT_EQ(got.back(), 0);
  // The zeros were only in this call's mapping.
  EXPECT_TRUE(file_.read(fd_, {0, page}, [&](const std::byte* from) {
    EXPECT_EQ(std::memcmp(from, bytes_.data(), page), 0);
  }));
  ASSERT_EQ(::pwrite(fd_, bytes_.data(), bytes_.size(), 0), pages * page);
  EXPECT_TRUE(file_.read(fd_, {4 * page, 5 * page}, [&](const std::byte* from) {
    EXPECT_EQ(std::memcmp(from, bytes_.data() + 4 * page, page), 0);
  }));
}

TEST_F(MappedTest, WhatIsKeptIsTheFileAsItIsNow) {
  const auto first = [&](Extent range) {
    int value = -1;
    EXPECT_TRUE(
        file_.read(fd_, range, [&](const std::byte* from) { value = static_cast<int>(*from); }));
    return value;
  };
  const Extent later{4 * page, 5 * page};
  EXPECT_EQ(first({0, pages * page}), bytes_[0]);
  EXPECT_EQ(first(later), bytes_[4 * page]);  // within what is mapped already
  const unsigned char other = 77;
  ASSERT_EQ(::pwrite(fd_, &other, 1, later.begin), 1);
  EXPECT_EQ(first(later), 77);
  ASSERT_EQ(::ftruncate(fd_, page), 0);
  EXPECT_FALSE(file_.read(fd_, later, [](const std::byte*) { FAIL(); }));
  ASSERT_EQ(::ftruncate(fd_, pages * page), 0);
  EXPECT_EQ(first(later), 0);
}

TEST_F(MappedTest, FaultsOfOthersEndTheProgramAsEver) {
  const auto touch = [&] {
    file_.read(fd_, {0, page}, [](const std::byte*) {});  // installs the handler
    if (::ftruncate(fd_, 0) != 0) return;
    void* const own = ::mmap(nullptr, page, PROT_READ, MAP_SHARED, fd_, 0);
    std::raise(*static_cast<volatile char*>(own) == 0 ? SIGTERM : SIGKILL);
  };
  EXPECT_EXIT(touch(), ended_by_fault, "");
}

TEST_F(MappedTest, ASignalThatWasSentEndsTheProgramAsEver) {
  const auto send = [&] {
    file_.read(fd_, {0, page}, [](const std::byte*) { std::raise(SIGBUS); });
    std::raise(SIGTERM);
  };
  EXPECT_EXIT(send(), ended_by_fault, "");
}

/// In a separate process, which has not mapped anything before.
TEST_F(MappedTest, WhereTheEnvironmentForbidsItThereIsNoHandler) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto read = [&] {
    struct sigaction before {
    }, after{};
    ::sigaction(SIGBUS, nullptr, &before);
    ::setenv("PENSTOCK_MAPPED_READS", "never", 1);
    const bool mapped = file_.read(fd_, {0, page}, [](const std::byte*) {});
    ::sigaction(SIGBUS, nullptr, &after);
    const bool same = before.sa_handler == after.sa_handler && before.sa_flags == after.sa_flags;
    std::_Exit(!mapped && same ? 0 : 1);
  };
  EXPECT_EXIT(read(), ::testing::ExitedWithCode(0), "");
}

TEST_F(MappedTest, WhereTheProgramHandlesFaultsItselfNothingIsMapped) {
  EXPECT_TRUE(file_.read(fd_, {0, page}, [](const std::byte*) {}));
  struct sigaction own {
  }, ours{};
  own.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGBUS, &own, &ours), 0);
  EXPECT_FALSE(file_.read(fd_, {0, page}, [](const std::byte*) { FAIL(); }));
  ASSERT_EQ(::sigaction(SIGBUS, &ours, nullptr), 0);
  EXPECT_TRUE(file_.read(fd_, {0, page}, [](const std::byte*) {}));
}

}  // namespace
}  // namespace penstock
