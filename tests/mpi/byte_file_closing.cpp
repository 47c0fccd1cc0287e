// How files of bytes are closed, replaced, and used beside other handles of theirs.
#include <algorithm>

#include "byte_files.hpp"
#include "support/sync_log.hpp"

namespace ps = penstock;
using namespace mpi_test;

namespace {

/// A crash of the machine leaves the old file or the new one.
TEST_F(ByteFiles, AReplacementIsOnTheDeviceBeforeItIsInPlace) {
  OpenEnded contents;
  ps::ByteFile file(ps::background_of_process(), ps::Communicator(MPI_COMM_WORLD), path,
                    ps::OpenFlag::replace, contents, {});
  Bytes data = filled(100, 'a');
  file.transfer(
      request(ps::Direction::write, data, 100 * rank(), 100, 100, ps::Company::collective));
  ps::test::take_synced();
  file.close();
  const auto synced = ps::test::take_synced();
  if (rank() == 0) {
    const std::string all(static_cast<std::size_t>(100 * size()), 'a');
    const auto is_new_file = [&](const ps::test::Synced& one) {
      return one.content == all && one.with_attributes &&
             one.path.find(".penstock-") != std::string::npos;
    };
    const auto found = std::ranges::find_if(synced, is_new_file);
    ASSERT_NE(found, synced.end());
    EXPECT_TRUE(ps::test::has_path({found, synced.end()}, mpi_test::folder()));
  }
}

TEST_F(ByteFiles, NothingIsReplacedAfterAFailedSync) {
  OpenEnded contents;
  ps::Hints hints;
  hints.device = "fault:sync@0=EIO,rank=" + std::to_string(size() - 1);
  ps::ByteFile file(ps::background_of_process(), ps::Communicator(MPI_COMM_WORLD), path,
                    ps::OpenFlag::replace, contents, hints);
  Bytes data = filled(100, 1);
  file.transfer(
      request(ps::Direction::write, data, 100 * rank(), 100, 100, ps::Company::collective));
  EXPECT_THROW(file.sync(), ps::Error);
  EXPECT_THROW(file.close(), ps::Error);
  EXPECT_FALSE(std::filesystem::exists(path));
}

/// Also where the sync goes on in the background, as close_begin() has it.
TEST_F(ByteFiles, NothingIsReplacedAfterAFailedSyncInTheBackground) {
  OpenEnded contents;
  ps::Hints hints;
  hints.device = "fault:sync@0=EIO,rank=" + std::to_string(size() - 1);
  ps::ByteFile file(ps::background_of_process(), ps::Communicator(MPI_COMM_WORLD), path,
                    ps::OpenFlag::replace, contents, hints);
  file.begin_close();
  EXPECT_THROW(file.finish_close(), ps::Error);
  EXPECT_FALSE(std::filesystem::exists(path));
}

/// A write that was refused has kept nothing out of the file.
TEST_F(ByteFiles, IsReplacedAfterAWrongArgument) {
  OpenEnded contents;
  ps::ByteFile file(ps::background_of_process(), ps::Communicator(MPI_COMM_WORLD), path,
                    ps::OpenFlag::replace, contents, {});
  Bytes data = filled(100, 1);
  ps::ByteRequest wrong =
      request(ps::Direction::write, data, 100 * rank(), 100, 100, ps::Company::collective);
  if (rank() == size() - 1) wrong.error.emplace(ps::ErrorClass::argument, "on purpose");
  EXPECT_THROW(file.transfer(std::move(wrong)), ps::Error);
  file.transfer(
      request(ps::Direction::write, data, 100 * rank(), 100, 100, ps::Company::collective));
  file.close();
  EXPECT_EQ(std::filesystem::file_size(path), static_cast<std::uintmax_t>(100 * size()));
}

/// A file that could not take the place of the old one leaves nothing that was meant for it.
TEST_F(ByteFiles, WhatIsNotReplacedIsForgotten) {
  struct Noted : OpenEnded {
    void forget_replacing(std::uint64_t inode) noexcept override { forgotten.push_back(inode); }
    std::vector<std::uint64_t> forgotten;
  } contents;
  ps::ByteFile file(ps::background_of_process(), ps::Communicator(MPI_COMM_WORLD), path,
                    ps::OpenFlag::replace, contents, {});
  if (rank() == 0) std::filesystem::create_directory(path);
  meet();
  EXPECT_THROW(file.close(), ps::Error);
  EXPECT_EQ(contents.forgotten.size(), rank() == 0 ? 1u : 0u);
}

TEST_F(ByteFiles, AFailureIsTheHandlesOnce) {
  ps::Hints hints;
  hints.device = "fault:write@*=EIO";
  const auto file = open(hints);
  Bytes data = filled(1000, 1);
  const auto begun = file->begin(
      request(ps::Direction::write, data, 1000 * rank(), 1000, 1000, ps::Company::collective),
      ps::Background::storage);
  EXPECT_THROW(file->end(*begun), ps::Error);
  EXPECT_NO_THROW(file->end(*begun));
  file->close();
}

/// Memory that a read still fills is not the program's yet.
TEST_F(ByteFiles, ReadsHaveEndedWhenAFileBeginsToClose) {
  ps::Hints hints;
  hints.device = "paced:bandwidth=200M,latency=50ms";
  const auto file = open(hints);
  Bytes data = filled(1000, 1), back(1000);
  file->transfer(
      request(ps::Direction::write, data, 1000 * rank(), 1000, 1000, ps::Company::collective));
  const auto begun = file->begin(
      request(ps::Direction::read, back, 1000 * rank(), 1000, 1000, ps::Company::collective),
      ps::Background::storage);
  file->begin_close();
  EXPECT_TRUE(begun->has_ended());
  EXPECT_EQ(back, data);
  file->end(*begun);
  file->finish_close();
}

/// The file was not there when the first one was opened.
TEST_F(ByteFiles, HandlesOfANewFileSeeWhatTheOthersHaveBuffered) {
  ps::Hints hints;
  hints.device = "paced:bandwidth=200M,latency=100ms";
  const auto file = open(hints);
  Bytes data = filled(1000, 1), back(1000);
  for (const std::int64_t offset : {5000, 0})  // the second one queues up behind the first
    if (rank() == 0)
      file->transfer(
          request(ps::Direction::write, data, offset, 1000, 1000, ps::Company::independent));
  meet();
  const auto other = open(hints);
  other->transfer(request(ps::Direction::read, back, 0, 1000, 1000, ps::Company::independent));
  EXPECT_EQ(back, data);
  other->close();
  file->close();
}

/// Without a plan a call sees what is in the file alone.
TEST_F(ByteFiles, WhereOthersHaveBufferedBytesNoAccessIsSimple) {
  const auto file = open(with_method(ps::Method::direct, 1 << 20));
  Bytes data = filled(1000, 1), back(1000);
  std::unique_ptr<ps::RangeLock> lock;  // while it is held, nothing is written
  if (rank() == 0) {
    int error = 0;
    lock = ps::open_posix(path, ps::OpenFlag::read_write)
               ->lock({0, 1000}, ps::LockKind::exclusive, error);
    ASSERT_TRUE(lock);
    file->transfer(request(ps::Direction::write, data, 0, 1000, 1000, ps::Company::independent));
  }
  meet();
  EXPECT_FALSE(file->move_now(ps::Direction::read, back, 999));
  meet();
  lock.reset();
  file->close();
}

/// The memory in which ranks show what they have buffered serves the next file.
TEST_F(ByteFiles, WhatIsBufferedForAFileThatTookOverTheLaneOfAnotherIsNotThatOnes) {
  const auto first = open(), second = open();
  Bytes data = filled(1000, 1);
  if (rank() == 0) second->move_now(ps::Direction::write, data, 0);
  first->close();
  path += ".other";
  ps::Hints hints;
  hints.device = "paced:bandwidth=200M,latency=100ms";
  const auto other = open(hints);
  if (rank() == 0)
    other->transfer(request(ps::Direction::write, data, 0, 1000, 1000, ps::Company::independent));
  meet();
  Bytes back(1000);
  EXPECT_EQ(second->move_now(ps::Direction::read, back, 0), 1000);
  EXPECT_EQ(back, data);
  other->close();
  second->close();
}

}  // namespace
