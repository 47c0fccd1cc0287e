// Direct I/O: requests of every alignment, the end of the file, and file systems without it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include <penstock/error.hpp>

#include "storage/blocks.hpp"
#include "storage/facts.hpp"
#include "storage_byte_model.hpp"
#include "storage_temp_folder.hpp"

namespace penstock {
namespace {

using test::pattern;
using test::TempFolder;
using Bytes = std::vector<std::byte>;

class Direct : public testing::Test {
 protected:
  void SetUp() override {
    storage_ = open_direct(path_, OpenFlag::create, &notice_);
    if (!notice_.empty()) GTEST_SKIP() << notice_;
  }
  std::int64_t on_disk() const {
    return static_cast<std::int64_t>(std::filesystem::file_size(path_));
  }

  TempFolder folder_;
  std::string path_ = folder_.file("file"), notice_;
  std::unique_ptr<Storage> storage_;
};

TEST_F(Direct, RandomRequestsMatchTheModel) {
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    ASSERT_EQ(storage_->resize(0), 0);
    test::ByteModel model(*storage_, 3 << 20, 2 << 20, seed);
    for (int i = 0; i < 150; ++i) {
      model.step();
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", step " << i;
    }
  }
}

TEST_F(Direct, OneCallDoesHeadMiddleAndTail) {
  const Bytes bytes = pattern(100000);
  EXPECT_EQ(storage_->write_some(bytes, 1234), 100000);
  Bytes into(100000);
  EXPECT_EQ(storage_->read_some(into, 1234), 100000);
  EXPECT_EQ(into, bytes);
}

/// The I/O thread and the program's own may be at it at the same time.
TEST_F(Direct, ThreadsMoveBytesBesideEachOther) {
  constexpr std::int64_t part = 40000, rounds = 100;  // at no alignment: through the bounce buffer
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Bytes from = pattern(part, static_cast<unsigned>(t));
      Bytes into(part);
      for (std::int64_t round = 0; round < rounds; ++round) {
        const std::int64_t offset = t * (1 << 20) + round;
        EXPECT_EQ(write_fully(*storage_, from, offset).bytes, part);
        EXPECT_EQ(read_fully(*storage_, into, offset).bytes, part);
        ASSERT_TRUE(into == from) << "thread " << t << ", round " << round;
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Direct, WritesNothingBehindTheRequest) {
  // A direct write of whole blocks must not round the file up to one.
  for (const std::int64_t size : {1, 511, 512, 4095, 4096, 4097, 8191, 8192, 70001}) {
    ASSERT_EQ(storage_->resize(0), 0);
    EXPECT_EQ(storage_->write_some(pattern(static_cast<std::size_t>(size)), 0), size);
    EXPECT_EQ(on_disk(), size);
  }
}

TEST_F(Direct, ReadsUpToTheEndAndNoFurther) {
  const Bytes bytes = pattern(70001);
  ASSERT_EQ(storage_->write_some(bytes, 0), 70001);
  for (const std::int64_t offset : {0, 1, 4096, 65536, 69632, 70000, 70001, 73728, 81920}) {
    Bytes into(200000);
    const Transfer got = read_fully(*storage_, into, offset);
    EXPECT_EQ(got.error, 0);
    ASSERT_EQ(got.bytes, std::max<std::int64_t>(0, 70001 - offset)) << offset;
    EXPECT_TRUE(std::equal(bytes.end() - got.bytes, bytes.end(), into.begin())) << offset;
  }
}

TEST_F(Direct, SeesWhatWentThroughThePageCacheAndIsSeen) {
  const auto buffered = open_posix(path_, OpenFlag::read_write);
  const Bytes first = pattern(65536, 1), second = pattern(65536, 2);
  Bytes into(65536);
  ASSERT_EQ(buffered->write_some(first, 0), 65536);
  EXPECT_EQ(storage_->read_some(into, 0), 65536);
  EXPECT_EQ(into, first);
  ASSERT_EQ(storage_->write_some(second, 0), 65536);
  EXPECT_EQ(buffered->read_some(into, 0), 65536);
  EXPECT_EQ(into, second);
}

TEST_F(Direct, TakesReadOnlyFiles) {
  ASSERT_EQ(storage_->write_some(pattern(10000), 0), 10000);
  const auto reader = open_direct(path_, OpenFlag::read, &notice_);
  EXPECT_EQ(notice_, "");
  Bytes into(10000);
  EXPECT_EQ(reader->read_some(into, 0), 10000);
  EXPECT_EQ(into, pattern(10000));
  EXPECT_EQ(reader->write_some(pattern(8192), 0), -EBADF);
}

TEST(DirectOpen, MissingFileIsThePosixError) {
  const TempFolder folder;
  std::string notice;
  EXPECT_THROW(open_direct(folder.file("none"), OpenFlag::read, &notice), Error);
  EXPECT_EQ(notice, "");
}

TEST(DirectOpen, NoticeWhereItDoesNotWork) {
  struct stat status {};
  if (::stat("/dev/shm", &status) != 0 || ::access("/dev/shm", W_OK) != 0)
    GTEST_SKIP() << "no /dev/shm to write to";
  const std::string path = "/dev/shm/penstock-direct-" + std::to_string(::getpid());
  std::string notice;
  const auto storage = open_direct(path, OpenFlag::create, &notice);
  EXPECT_EQ(find_facts(path).type, "tmpfs");
  EXPECT_EQ(notice, "direct I/O does not work on '" + path + "' (tmpfs): using the page cache");
  EXPECT_EQ(storage->write_some(pattern(10000), 3), 10000);
  EXPECT_EQ(storage->size(), 10003);
  EXPECT_NO_THROW(open_direct(path, OpenFlag::create, nullptr));
  ::unlink(path.c_str());
}

/// Without loading it, as a read would.
bool is_in_page_cache(const std::string& path, std::int64_t offset) {
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.number(), offset);
  unsigned char there = 0;
  EXPECT_EQ(::mincore(page, 4096, &there), 0);
  ::munmap(page, 4096);
  return (there & 1) != 0;
}

/// Like a file system that accepts O_DIRECT on opening and refuses it at a transfer: with too small
/// a block size the kernel refuses.
TEST(DirectRefused, GoesOnThroughThePageCacheForGood) {
  const TempFolder folder;
  const std::string path = folder.file("file");
  BlockFile file = open_block_file(path, OpenFlag::create, nullptr);
  if (!file.direct) GTEST_SKIP() << "direct I/O does not work here";
  file.block = 8;
  const auto storage = std::make_unique<BlockStorage>(std::move(file), path);
  const Bytes bytes = pattern(20000);
  const auto write_blocks = [&] {  // aligned for O_DIRECT, whatever the block size
    Buffer block(4096, nullptr);
    return storage->write_some(block.first(4096), 1 << 20);
  };
  EXPECT_EQ(write_blocks(), 4096);
  EXPECT_FALSE(is_in_page_cache(path, 1 << 20));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(storage->write_some(bytes, 104), 20000);
  Bytes into(20000);
  EXPECT_EQ(storage->read_some(into, 104), 20000);
  EXPECT_EQ(into, bytes);
  EXPECT_EQ(write_blocks(), 4096);
  EXPECT_TRUE(is_in_page_cache(path, 1 << 20));
  EXPECT_EQ(storage->sync(), 0);
}

}  // namespace
}  // namespace penstock
