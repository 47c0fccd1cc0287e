// io_uring: many concurrent pieces have the result of a single access.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <thread>

#include <penstock/error.hpp>

#include "storage_byte_model.hpp"
#include "storage_temp_folder.hpp"

namespace penstock {
namespace {

using test::pattern;
using test::TempFolder;
using Bytes = std::vector<std::byte>;

struct Setting {
  const char* name;
  bool direct;
  int depth;
};

class Uring : public testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    storage_ = open(OpenFlag::create);
    if (!notice_.empty()) GTEST_SKIP() << notice_;
  }
  std::unique_ptr<Storage> open(OpenFlag flag) {
    return open_uring(path_, flag, GetParam().direct, GetParam().depth, &notice_);
  }

  TempFolder folder_;
  std::string path_ = folder_.file("file"), notice_;
  std::unique_ptr<Storage> storage_;
};

TEST_P(Uring, RandomRequestsMatchTheModel) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    ASSERT_EQ(storage_->resize(0), 0);
    test::ByteModel model(*storage_, 8 << 20, 5 << 20, seed);
    for (int i = 0; i < 100; ++i) {
      model.step();
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", step " << i;
    }
  }
}

TEST_P(Uring, OneCallMovesManyPieces) {
  const Bytes bytes = pattern((20 << 20) + 12345);
  EXPECT_EQ(storage_->write_some(bytes, 1000001), std::ssize(bytes));
  EXPECT_EQ(storage_->size(), 1000001 + std::ssize(bytes));
  Bytes into(bytes.size());
  EXPECT_EQ(storage_->read_some(into, 1000001), std::ssize(bytes));
  EXPECT_TRUE(into == bytes);
}

TEST_P(Uring, EndOfTheFileCutsEveryPieceBehindIt) {
  const std::int64_t mebi = 1 << 20;
  const Bytes bytes = pattern((3 << 20) + 77);
  ASSERT_EQ(write_fully(*storage_, bytes, 0).error, 0);
  for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{5}, mebi, 3 * mebi, 4 * mebi}) {
    Bytes into(12 << 20);
    const Transfer got = read_fully(*storage_, into, offset);
    EXPECT_EQ(got.error, 0);
    ASSERT_EQ(got.bytes, std::max<std::int64_t>(0, std::ssize(bytes) - offset)) << offset;
    EXPECT_TRUE(std::equal(bytes.end() - got.bytes, bytes.end(), into.begin())) << offset;
  }
}

TEST_P(Uring, CountsUpToTheFirstFailureAndThenTellsIt) {
  // A file size limit fails the pieces beyond it, in whatever order they complete. In a child,
  // since a lowered limit stays.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr std::int64_t limit = 3 << 20;
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit lowered{limit, limit};
    const auto storage = open(OpenFlag::create);  // a ring belongs to the process that made it
    const Bytes bytes = pattern(16 << 20);
    const bool limited = ::setrlimit(RLIMIT_FSIZE, &lowered) == 0;
    const std::int64_t counted = storage->write_some(bytes, 0);
    const std::int64_t written = storage->write_some(bytes, limit);
    ::_exit(limited && counted == limit && written == -EFBIG ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_P(Uring, ThreadsSubmitAndWaitBesideEachOther) {
  constexpr std::int64_t part = 1 << 20, rounds = 20;
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Bytes from = pattern(part, static_cast<unsigned>(t)), into(part);
      for (std::int64_t round = 0; round < rounds; ++round) {
        const std::int64_t begin = (t * rounds + round) * part;
        Submission writes(*storage_), reads(*storage_);
        for (std::int64_t at = 0; at < part; at += part / 8)
          writes.add(Direction::write,
                     std::span(from).subspan(static_cast<std::size_t>(at),
                                             part / 8 - (round % 2 == 0 ? 0 : 1)),
                     begin + at);
        writes.start();
        if (round % 3 == 0)
          while (!writes.poll()) std::this_thread::yield();
        else writes.wait();
        EXPECT_EQ(writes.first_failure(), writes.size());
        reads.add(Direction::read, into, begin);
        reads.run();
        for (std::int64_t at = 0; at < part; at += part / 8)
          EXPECT_EQ(std::memcmp(into.data() + at, from.data() + at, part / 8 - 1), 0);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_P(Uring, WindowsStayUnderWayWhileOthersAreSubmitted) {
  constexpr std::int64_t window = 3 << 20;
  const Bytes bytes = pattern(window + 8192);
  const auto aligned = (4096 - reinterpret_cast<std::uintptr_t>(bytes.data()) % 4096) % 4096;
  std::deque<Submission> windows;
  for (std::int64_t i = 0; i < 12; ++i) {
    windows.emplace_back(*storage_).add(
        Direction::write, {bytes.data() + aligned, static_cast<std::size_t>(window)}, i * window);
    windows.back().start();
  }
  while (!windows.empty()) {
    windows.front().wait();
    EXPECT_EQ(windows.front().transfer(0).bytes, window);
    windows.pop_front();
  }
  EXPECT_EQ(storage_->size(), 12 * window);
}

TEST_P(Uring, ReadOnlyFilesRefuseEveryPiece) {
  ASSERT_EQ(storage_->resize(4 << 20), 0);
  const auto reader = open(OpenFlag::read);
  EXPECT_EQ(reader->write_some(pattern(4 << 20), 0), -EBADF);
  Bytes into(4 << 20, std::byte{0xee});
  EXPECT_EQ(reader->read_some(into, 0), 4 << 20);
  EXPECT_TRUE(into == test::zeros(4 << 20));
}

TEST_P(Uring, ManyOpenAndCloseAgain) {
  const auto before = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  for (int i = 0; i < 20; ++i) open(OpenFlag::read_write);
  EXPECT_EQ(notice_, "");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}), before);
}

INSTANTIATE_TEST_SUITE_P(Settings, Uring,
                         testing::Values(Setting{"one", false, 1}, Setting{"eight", false, 8},
                                         Setting{"direct_one", true, 1},
                                         Setting{"direct_eight", true, 8}),
                         [](const testing::TestParamInfo<Setting>& info) {
                           return std::string(info.param.name);
                         });

TEST(UringOpen, DepthOutOfBoundsIsBroughtThere) {
  const TempFolder folder;
  for (const int depth : {-5, 0, 100000}) {
    std::string notice;
    const auto storage = open_uring(folder.file("file"), OpenFlag::create, false, depth, &notice);
    EXPECT_EQ(storage->write_some(pattern(2 << 20), 0), 2 << 20) << notice;
  }
}

TEST(UringOpen, MissingFileIsThePosixError) {
  const TempFolder folder;
  EXPECT_THROW(open_uring(folder.file("none"), OpenFlag::read, true, 4, nullptr), Error);
}

TEST(UringOpen, WithoutARingItSaysSoAndWorks) {
  // No descriptor is left for the ring: as if io_uring were forbidden, the file is opened without
  // it.
  const TempFolder folder;
  const std::string path = folder.file("file");
  const auto first_free = ::dup(0);
  ASSERT_GE(first_free, 0);
  ::close(first_free);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit one_more{static_cast<rlim_t>(first_free) + 1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &one_more), 0);
  std::string notice;
  const auto storage = open_uring(path, OpenFlag::create, false, 4, &notice);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(notice.starts_with("io_uring does not work for '" + path + "' (")) << notice;
  EXPECT_TRUE(notice.ends_with("): one access at a time")) << notice;
  EXPECT_EQ(storage->write_some(pattern(2 << 20), 0), 2 << 20);
}

}  // namespace
}  // namespace penstock
