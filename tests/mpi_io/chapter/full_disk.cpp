// A disk that is really full: a tmpfs of 1 MiB, for users who may mount one.
#include <sys/mount.h>

#include <filesystem>
#include <functional>

#include "chapter.hpp"

using namespace chapter;

namespace {

constexpr int bytes = 4 << 20;  // of each rank: too much for any of them

/// Mounted by rank 0, at the same place for all ranks, during its lifetime.
class SmallDisk {
 public:
  SmallDisk() : folder_(path_of("disk")) {
    int mounted = 0;
    if (rank() == 0) {
      std::filesystem::create_directory(folder_);
      mounted = ::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=1m") == 0;
    }
    MPI_Bcast(&mounted, 1, MPI_INT, 0, MPI_COMM_WORLD);
    mounted_ = mounted != 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  ~SmallDisk() {
    barrier();
    if (rank() == 0 && mounted_) EXPECT_EQ(::umount(folder_.c_str()), 0) << std::strerror(errno);
    if (rank() == 0) std::filesystem::remove(folder_);
    barrier();
  }
  bool mounted() const { return mounted_; }

 private:
  std::string folder_;
  bool mounted_ = false;
};

using Write = std::function<int(MPI_File, const std::vector<char>&)>;
struct Case {
  const char* name;
  bool collective;
  Write write;  // of this rank's bytes, at their offset
};

MPI_Offset place() {
  return rank() * MPI_Offset{bytes};
}

/// The result of a request.
int wait_for(int begun, MPI_Request& request) {
  return begun != MPI_SUCCESS ? begun : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

const std::vector<Case>& cases() {
  static const auto none = MPI_STATUS_IGNORE;
  static const std::vector<Case> all = {
      {"write_at", false,
       [](MPI_File file, auto& mine) {
         return MPI_File_write_at(file, place(), mine.data(), bytes, MPI_CHAR, none);
       }},
      {"write_at_all", true,
       [](MPI_File file, auto& mine) {
         return MPI_File_write_at_all(file, place(), mine.data(), bytes, MPI_CHAR, none);
       }},
      {"write_ordered", true,
       [](MPI_File file, auto& mine) {
         return MPI_File_write_ordered(file, mine.data(), bytes, MPI_CHAR, none);
       }},
      {"iwrite_at", false,
       [](MPI_File file, auto& mine) {
         MPI_Request request = MPI_REQUEST_NULL;
         return wait_for(MPI_File_iwrite_at(file, place(), mine.data(), bytes, MPI_CHAR, &request),
                         request);
       }},
      {"iwrite_at_all", true,
       [](MPI_File file, auto& mine) {
         MPI_Request request = MPI_REQUEST_NULL;
         return wait_for(
             MPI_File_iwrite_at_all(file, place(), mine.data(), bytes, MPI_CHAR, &request),
             request);
       }},
      {"write_at_all_begin", true,
       [](MPI_File file, auto& mine) {
         const int code = MPI_File_write_at_all_begin(file, place(), mine.data(), bytes, MPI_CHAR);
         return code != MPI_SUCCESS ? code : MPI_File_write_at_all_end(file, mine.data(), none);
       }},
  };
  return all;
}

/// A new file on the disk, with a write buffer of this size ("": the library's default).
MPI_File open_on_disk(const std::string& buffer) {
  MPI_File file = MPI_FILE_NULL;
  MPI_Info info = MPI_INFO_NULL;
  if (!buffer.empty()) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "penstock_active_buffer_size", buffer.c_str());
  }
  EXPECT_MPI(MPI_File_open(MPI_COMM_WORLD, path_of("disk/full").c_str(), read_write, info, &file));
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  return file;
}

/// The write itself, or `behind` it, fails on every rank that has not had the error yet. All ranks
/// call `behind`, which reports to all of them if to one.
void expect_told(const Case& of, MPI_File file, const std::function<int()>& behind) {
  const std::vector<char> mine(bytes, static_cast<char>('a' + rank()));
  const int code = of.write(file, mine);
  if (code != MPI_SUCCESS) EXPECT_CLASS(code, MPI_ERR_NO_SPACE);
  const std::int64_t reported = sum(code != MPI_SUCCESS);
  if (of.collective)
    EXPECT_TRUE(reported == 0 || reported == size()) << reported << " ranks got the error";
  EXPECT_CLASS(behind(), reported < size() ? MPI_ERR_NO_SPACE : MPI_SUCCESS);
}

class FullDisk : public testing::TestWithParam<const char*> {};

TEST_P(FullDisk, IsToldByTheWriteOrBySync) {
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "a tmpfs cannot be mounted here";
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    MPI_File file = open_on_disk(GetParam());
    expect_told(one, file, [&] { return MPI_File_sync(file); });
    // With free space it is usable as before.
    EXPECT_MPI(MPI_File_set_size(file, 0));
    expect_usable(file);
    EXPECT_MPI(MPI_File_close(&file));
    EXPECT_EQ(file, MPI_FILE_NULL);
    barrier();
  }
}

TEST_P(FullDisk, IsToldByTheWriteOrByClose) {
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "a tmpfs cannot be mounted here";
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    MPI_File file = open_on_disk(GetParam());
    expect_told(one, file, [&] { return MPI_File_close(&file); });
    EXPECT_EQ(file, MPI_FILE_NULL);
    barrier();
    if (rank() == 0) ::unlink(path_of("disk/full").c_str());
    barrier();
  }
}

TEST_P(FullDisk, HasNoRoomToPreallocate) {
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "a tmpfs cannot be mounted here";
  MPI_File file = open_on_disk(GetParam());
  EXPECT_CLASS(MPI_File_preallocate(file, bytes), MPI_ERR_NO_SPACE);
  expect_usable(file);
  EXPECT_MPI(MPI_File_close(&file));
}

INSTANTIATE_TEST_SUITE_P(Buffers, FullDisk, testing::Values("", "0", "8M"));

}  // namespace
