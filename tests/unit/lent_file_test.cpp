// Memory of one process opened by others of its node: the right file, or none.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "mpi/segment.hpp"

using namespace penstock;

namespace {

class Memory {
 public:
  Memory() : descriptor_(::memfd_create("test", MFD_CLOEXEC)) {}
  Memory(const Memory&) = delete;
  ~Memory() { close(); }
  int descriptor() const { return descriptor_; }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int descriptor_;
};

TEST(LentFile, IsOpenedWhereItIs) {
  const Memory memory;
  ASSERT_EQ(::pwrite(memory.descriptor(), "lent", 4, 0), 4);
  const int opened = LentFile::of(memory.descriptor()).open();
  ASSERT_GE(opened, 0);
  char text[5] = "";
  EXPECT_EQ(::pread(opened, text, 4, 0), 4);
  EXPECT_STREQ(text, "lent");
  ::close(opened);
}

/// As if the process id meant another process here.
TEST(LentFile, IsNotAnotherFileOfThatNumber) {
  const Memory memory, other;
  LentFile file = LentFile::of(memory.descriptor());
  file.descriptor = other.descriptor();
  EXPECT_LT(file.open(), 0);
  EXPECT_NE(why_not_lent(errno).find("PID namespaces"), std::string::npos) << why_not_lent(errno);
}

TEST(LentFile, IsNotThereWhereTheProcessIsNot) {
  Memory memory;
  const LentFile file = LentFile::of(memory.descriptor());
  memory.close();
  EXPECT_LT(file.open(), 0);
  EXPECT_NE(why_not_lent(errno).find("PID namespaces"), std::string::npos) << why_not_lent(errno);
  EXPECT_LT(LentFile::of(-1).descriptor, 0);
}

TEST(SharedSegment, IsOneMemory) {
  SharedSegment first, second;
  const SharedSegment::Invitation invitation = first.create(8192);
  ASSERT_EQ(invitation.error, 0);
  ASSERT_EQ(second.join(invitation, 8192), 0);
  std::strcpy(reinterpret_cast<char*>(first.data()) + 8000, "common");
  EXPECT_STREQ(reinterpret_cast<char*>(second.data()) + 8000, "common");
}

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator begin("/proc/self/fd"), end;
  return std::distance(begin, end);
}

/// Descriptors are limited: once all ranks have mapped the memory none is needed.
TEST(SharedSegment, TakesNoDescriptorOnceItIsComplete) {
  const std::ptrdiff_t before = open_descriptors();
  for (const int error : {0, EIO}) {
    SharedSegment first, second;
    const SharedSegment::Invitation invitation = first.create(4096);
    ASSERT_EQ(second.join(invitation, 4096), 0);
    std::string why;
    const SharedSegment kept = SharedSegment::complete(std::move(first), error, why);
    const SharedSegment joined = SharedSegment::complete(std::move(second), error, why);
    EXPECT_EQ(static_cast<bool>(kept), error == 0);
    EXPECT_EQ(open_descriptors(), before);
  }
  const Memory other;
  LentFile file = LentFile::of(other.descriptor());
  ++file.inode;
  EXPECT_LT(file.open(), 0);
  EXPECT_EQ(open_descriptors(), before + 1) << "of the memory itself";
}

TEST(SharedSegment, IsRefusedForAllWhereOneCannotReachIt) {
  SharedSegment first, second;
  const SharedSegment::Invitation invitation = first.create(4096);
  SharedSegment::Invitation elsewhere = invitation;
  ++elsewhere.file.inode;
  const int error = second.join(elsewhere, 4096);
  EXPECT_NE(error, 0);
  std::string why;
  EXPECT_FALSE(SharedSegment::complete(std::move(first), error, why));
  EXPECT_NE(why.find("do not see each other's processes"), std::string::npos) << why;
}

}  // namespace
