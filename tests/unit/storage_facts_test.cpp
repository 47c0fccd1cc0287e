// Detection of file systems' properties.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <penstock/error.hpp>

#include "storage/client_caches.hpp"
#include "storage/facts.hpp"
#include "storage/storage.hpp"
#include "storage_byte_model.hpp"
#include "storage_temp_folder.hpp"

namespace penstock {
namespace {

using test::TempFolder;
using Bytes = std::vector<std::byte>;

TEST(Facts, OfAFileHere) {
  const TempFolder folder;
  const std::string path = folder.file("file");
  open_posix(path, OpenFlag::create)->resize(10000);
  const FileSystemFacts facts = find_facts(path);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_FALSE(facts.type.empty());
  EXPECT_EQ(facts.block_size, status.st_blksize);
  EXPECT_GE(facts.stripe_size, 0);
  std::string notice;
  open_direct(path, OpenFlag::read, &notice);
  EXPECT_EQ(facts.direct_alignment > 0, notice.empty()) << notice;
  EXPECT_EQ(facts.direct_alignment & (facts.direct_alignment - 1), 0);
}

TEST(Facts, OfNoFile) {
  const TempFolder folder;
  EXPECT_THROW(find_facts(folder.file("none")), Error);
}

TEST(Facts, KindsOfFileSystemsThatEveryLinuxHas) {
  if (!std::filesystem::exists("/proc/self/status")) GTEST_SKIP() << "no /proc";
  const FileSystemFacts facts = find_facts("/proc/self/status");
  EXPECT_EQ(facts.type, "0x9fa0");  // not one for arrays: its number
  EXPECT_EQ(facts.direct_alignment, 0);
  EXPECT_EQ(facts.stripe_size, 0);
}

/// Hosts that number mounts in order of mounting, as with NFS and Lustre, have several numbers for
/// one file.
TEST(Facts, IdentityHasNoDeviceNumberOfAFileSystemThatMayHaveSeveral) {
  if (!std::filesystem::exists("/proc/self/status")) GTEST_SKIP() << "no /proc";
  const std::string text = find_identity("/proc/self/status");
  EXPECT_EQ(text.find("device"), std::string::npos) << text;
  EXPECT_NE(text.find("(0x9fa0)"), std::string::npos) << text;
}

/// The attribute of a file in stripes of 4 MiB over 8 targets.
Bytes lustre_attribute(std::uint32_t magic) {
  Bytes bytes(32, std::byte{0x5a});
  const auto put = [&](std::size_t at, std::uint32_t value, int width) {
    for (int i = 0; i < width; ++i)
      bytes[at + static_cast<std::size_t>(i)] = static_cast<std::byte>(value >> (8 * i));
  };
  put(0, magic, 4);
  put(24, 4 << 20, 4);
  put(28, 8, 2);
  return bytes;
}

TEST(LustreStripes, OfBothVersions) {
  EXPECT_EQ(lustre_stripe_size(lustre_attribute(0x0bd10bd0)), 4 << 20);
  EXPECT_EQ(lustre_stripe_size(lustre_attribute(0x0bd30bd0)), 4 << 20);
}

TEST(LustreStripes, OfWhatIsNotAPlainLayout) {
  EXPECT_EQ(lustre_stripe_size(lustre_attribute(0x0bd60bd0)), 0);  // composite
  EXPECT_EQ(lustre_stripe_size({}), 0);
  Bytes cut = lustre_attribute(0x0bd10bd0);
  cut.resize(27);
  EXPECT_EQ(lustre_stripe_size(cut), 0);
}

TEST(ClientCaches, AgreeWhereTheFileSystemSaysSo) {
  for (const char* const type :
       {"ext4", "xfs", "btrfs", "tmpfs", "lustre", "gpfs", "beegfs", "ceph"})
    EXPECT_TRUE(caches_agree(type)) << type;
  for (const char* const type : {"nfs", "fuse", "cifs", "smb2", "9p", "afs", "unknown", "0x1234"})
    EXPECT_FALSE(caches_agree(type)) << type;
}

TEST(ClientCaches, AreToldApartByKernelAndMount) {
  const TempFolder folder;
  const std::string path = folder.file("file");
  open_posix(path, OpenFlag::create);
  EXPECT_FALSE(find_page_cache(path).empty());
  EXPECT_EQ(find_page_cache(path), find_page_cache(folder.file(".")));
  EXPECT_NE(find_page_cache(path), find_page_cache("/proc"));
  EXPECT_EQ(find_page_cache(folder.file("none")), "");
}

TEST(ClientCaches, LookingAnewMakesNothing) {
  const TempFolder folder;
  const std::string path = folder.file("file");
  look_anew(path);
  EXPECT_FALSE(std::filesystem::exists(path));
  open_posix(path, OpenFlag::create);
  look_anew(path);
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
}

TEST(ClientCaches, LocksAreSeenByOthers) {
  const TempFolder folder;
  const std::string path = folder.file("file");
  const auto storage = open_posix(path, OpenFlag::create);
  int error = 0;
  auto lock = storage->lock({5, 6}, LockKind::shared, error);
  EXPECT_TRUE(is_locked(path, 5));
  EXPECT_FALSE(is_locked(path, 6));
  lock.reset();
  EXPECT_FALSE(is_locked(path, 5));
}

/// What goes past the cache of a file here may need an alignment, which an empty one does not tell;
/// the bytes are right all the same.
TEST(ClientCaches, FilesOfThisFileSystemPastTheCache) {
  for (const std::size_t bytes : {0u, 5000u}) {
    const TempFolder folder;
    const std::string path = folder.file("file");
    write_fully(*open_posix(path, OpenFlag::create), test::pattern(bytes), 0);
    bool exact = false;
    const auto storage = go_past_cache(open_posix(path, OpenFlag::read_write), true, exact);
    ASSERT_EQ(storage->resize(0), 0);
    test::ByteModel model(*storage, 100000, 20000, /*seed=*/1);
    for (int i = 0; i < 300 && !testing::Test::HasFatalFailure(); ++i) model.step();
  }
}

bool run(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

/// An XFS in a file, mounted during its lifetime.
class XfsMount {
 public:
  XfsMount() {
    std::filesystem::create_directory(folder_.file("mount"));
    std::ofstream(folder_.file("image")).close();
    std::filesystem::resize_file(folder_.file("image"), std::uintmax_t{1} << 30);
    mounted_ = run("mkfs.xfs -q -d su=256k,sw=4 " + folder_.file("image")) &&
               run("mount -o loop " + folder_.file("image") + " " + folder_.file("mount"));
  }
  ~XfsMount() {
    if (mounted_) run("umount " + folder_.file("mount"));
  }
  bool mounted() const { return mounted_; }
  std::string file(const std::string& name) const { return folder_.file("mount/" + name); }

 private:
  TempFolder folder_;
  bool mounted_ = false;
};

TEST(XfsFacts, StripeAndAlignment) {
  if (::geteuid() != 0 || !run("command -v mkfs.xfs")) GTEST_SKIP() << "needs root and mkfs.xfs";
  const XfsMount xfs;
  if (!xfs.mounted()) GTEST_SKIP() << "an XFS image cannot be mounted here";
  open_posix(xfs.file("file"), OpenFlag::create)->resize(1 << 20);
  const FileSystemFacts facts = find_facts(xfs.file("file"));
  EXPECT_EQ(facts.type, "xfs");
  EXPECT_EQ(facts.stripe_size, 256 << 10);
  EXPECT_GT(facts.block_size, 0);
  EXPECT_GT(facts.direct_alignment, 0);
}

}  // namespace
}  // namespace penstock
