// Files of the operating system: what only they have (opening, messages, signals, descriptors).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include <penstock/error.hpp>

#include "storage/storage.hpp"
#include "storage_temp_folder.hpp"

namespace {
std::atomic<bool> cannot_allocate = false;
}

/// Takes the place of the C library's.
extern "C" int fallocate(int fd, int mode, off_t offset, off_t length) {
  if (!cannot_allocate) return static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, length));
  errno = EOPNOTSUPP;
  return -1;
}

namespace penstock {
namespace {

using namespace std::chrono_literals;
using test::pattern;
using test::TempFolder;

/// Opens what cannot be opened, and returns the error.
Error refusal(const std::string& path, OpenFlag flag) {
  try {
    open_posix(path, flag);
  } catch (const Error& error) {
    return error;
  }
  throw std::runtime_error("'" + path + "' was opened");
}

void expect_message(const Error& error, const std::string& path, int number,
                    const std::string& says) {
  EXPECT_EQ(error.error_class(), ErrorClass::storage);
  EXPECT_EQ(error.error_number(), number);
  EXPECT_EQ(error.path(), path);
  EXPECT_EQ(error.offset(), -1);
  const std::string text = error.what();
  for (const std::string& part : {"'" + path + "'", "(errno " + std::to_string(number) + ")", says})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

TEST(PosixOpen, MissingFileSaysWhatToDo) {
  const TempFolder folder;
  const std::string path = folder.file("none");
  expect_message(refusal(path, OpenFlag::read), path, ENOENT, "for reading");
  expect_message(refusal(path, OpenFlag::read_write), path, ENOENT, "create the file first");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(PosixDrop, ReplacesTheRangeAndNoByteMore) {
  const TempFolder folder;
  const auto storage = open_posix(folder.file("f"), OpenFlag::create);
  std::vector<std::byte> bytes = pattern(20000);
  ASSERT_EQ(write_fully(*storage, bytes, 0).bytes, 20000);
  if (storage->drop({100, 9001}) == -EOPNOTSUPP) return;  // no holes on this file system
  std::fill(bytes.begin() + 100, bytes.begin() + 9001, std::byte{0});
  std::vector<std::byte> there(20001);
  EXPECT_EQ(read_fully(*storage, there, 0).bytes, 20000);
  there.resize(20000);
  EXPECT_EQ(there, bytes);
}

TEST(PosixAllocate, WhereTheFileSystemCannotTheFileIsLongEnoughAllTheSame) {
  const TempFolder folder;
  const auto storage = open_posix(folder.file("f"), OpenFlag::create);
  cannot_allocate = true;
  EXPECT_EQ(storage->allocate(5000), 0);
  EXPECT_EQ(storage->size(), 5000);
  EXPECT_EQ(storage->allocate(1000), 0);
  EXPECT_EQ(storage->size(), 5000);
  cannot_allocate = false;
}

TEST(PosixOpen, MissingFolderSaysWhatToDo) {
  const TempFolder folder;
  const std::string path = folder.file("none/file");
  expect_message(refusal(path, OpenFlag::create), path, ENOENT, "make its folder first");
}

TEST(PosixOpen, FolderIsRefusedInEveryMode) {
  const TempFolder folder;
  for (const OpenFlag flag : {OpenFlag::read, OpenFlag::read_write, OpenFlag::create})
    expect_message(refusal(folder.path(), flag), folder.path(), EISDIR, "this is a folder");
}

TEST(PosixOpen, FileInPlaceOfAFolder) {
  const TempFolder folder;
  open_posix(folder.file("file"), OpenFlag::create);
  const std::string path = folder.file("file/below");
  expect_message(refusal(path, OpenFlag::create), path, ENOTDIR, "a folder is needed");
}

TEST(PosixOpen, EmptyPath) {
  expect_message(refusal("", OpenFlag::read), "", ENOENT, "the path is empty");
}

TEST(PosixOpen, NoPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may open everything";
  const TempFolder folder;
  const std::string path = folder.file("sealed");
  open_posix(path, OpenFlag::create);
  ASSERT_EQ(::chmod(path.c_str(), 0400), 0);
  expect_message(refusal(path, OpenFlag::read_write), path, EACCES, "check the permissions");
  EXPECT_NO_THROW(open_posix(path, OpenFlag::read));
}

TEST(PosixOpen, CreateKeepsWhatIsThere) {
  const TempFolder folder;
  const std::string path = folder.file("file");
  open_posix(path, OpenFlag::create)->write_some(pattern(10), 0);
  EXPECT_EQ(open_posix(path, OpenFlag::create)->size(), 10);
}

TEST(PosixOpen, ReadOnlyRefusesToChangeTheFile) {
  const TempFolder folder;
  const std::string path = folder.file("file");
  open_posix(path, OpenFlag::create)->resize(10);
  const auto storage = open_posix(path, OpenFlag::read);
  EXPECT_EQ(storage->write_some(pattern(4), 0), -EBADF);
  EXPECT_LT(storage->resize(0), 0);
  int error = 0;
  EXPECT_EQ(storage->lock({0, 4}, LockKind::exclusive, error), nullptr);
  EXPECT_EQ(error, EBADF);
  EXPECT_NE(storage->lock({0, 4}, LockKind::shared, error), nullptr);
  EXPECT_EQ(error, 0);
  EXPECT_EQ(storage->size(), 10);
}

int descriptor_count() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

TEST(PosixOpen, LeavesNoDescriptorBehind) {
  if (!std::filesystem::exists("/proc/self/fd")) GTEST_SKIP() << "no /proc";
  const TempFolder folder;
  const int before = descriptor_count();
  for (int i = 0; i < 3; ++i) {
    open_posix(folder.file("file"), OpenFlag::create);
    refusal(folder.path(), OpenFlag::read);
  }
  EXPECT_EQ(descriptor_count(), before);
}

TEST(PosixOpen, DescriptorsCloseOnExec) {
  const TempFolder folder;
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);  // the number that the next open gets
  ::close(next);
  const auto storage = open_posix(folder.file("file"), OpenFlag::create);
  const int flags = ::fcntl(next, F_GETFD);
  ASSERT_GE(flags, 0);
  EXPECT_TRUE(flags & FD_CLOEXEC);
}

TEST(PosixOpen, DevicesThatCanSeek) {
  const auto storage = open_posix("/dev/null", OpenFlag::create);
  EXPECT_EQ(write_fully(*storage, pattern(100), 5).bytes, 100);
  EXPECT_EQ(storage->size(), 0);
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const std::string pipe = "/proc/self/fd/" + std::to_string(ends[0]);
  expect_message(refusal(pipe, OpenFlag::read), pipe, ESPIPE, "it is a pipe");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(PosixCached, WhatWasJustWritten) {
  const TempFolder folder;
  const auto storage = open_posix(folder.file("cached"), OpenFlag::create);
  const auto bytes = pattern(100);
  ASSERT_EQ(write_fully(*storage, bytes, 0).bytes, 100);
  std::byte one{};
  const iovec into{&one, 1};
  const int fd = ::open(folder.file("cached").c_str(), O_RDONLY);
  const bool supported = ::preadv2(fd, &into, 1, 0, RWF_NOWAIT) == 1;
  ::close(fd);
  if (!supported) GTEST_SKIP() << "this file system does not support it";
  EXPECT_TRUE(storage->is_cached(0));
  EXPECT_TRUE(storage->is_cached(99));
}

TEST(PosixLock, OutlivesItsStorage) {
  const TempFolder folder;
  const std::string path = folder.file("file");
  int error = 0;
  auto storage = open_posix(path, OpenFlag::create);
  auto held = storage->lock({0, 10}, LockKind::exclusive, error);
  storage.reset();
  const int probe = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct flock wanted {};
  wanted.l_type = F_WRLCK;
  wanted.l_len = 10;
  EXPECT_EQ(::fcntl(probe, F_OFD_SETLK, &wanted), -1);
  held.reset();
  EXPECT_EQ(::fcntl(probe, F_OFD_SETLK, &wanted), 0);
  ::close(probe);
}

/// Without SA_RESTART, so that a signal does interrupt the wait for a lock.
void catch_signal(int number) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(number, &action, nullptr);
}

TEST(PosixLock, WaitsOnThroughSignals) {
  const TempFolder folder;
  const std::string path = folder.file("file");
  catch_signal(SIGUSR1);
  int error = 0;
  auto holder = open_posix(path, OpenFlag::create);
  auto held = holder->lock({0, 10}, LockKind::exclusive, error);
  ASSERT_NE(held, nullptr);
  std::atomic<bool> done = false;
  int waiter_error = -1;
  std::thread waiter([&] {
    const auto storage = open_posix(path, OpenFlag::read_write);
    const auto mine = storage->lock({5, 6}, LockKind::exclusive, waiter_error);
    done = true;
  });
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(10ms);
    ::pthread_kill(waiter.native_handle(), SIGUSR1);
  }
  EXPECT_FALSE(done);
  held.reset();
  waiter.join();
  EXPECT_EQ(waiter_error, 0);
}

}  // namespace
}  // namespace penstock
