// Failures of storage: failing system calls of one rank, full disks, files that are deleted while
// they are open.
#include <dirent.h>

#include <algorithm>

#include "chapter.hpp"

using namespace chapter;

namespace {

MPI_Offset place() {
  return rank() * ints * static_cast<MPI_Offset>(sizeof(int));
}

/// Environment variables, set during its lifetime.
class Settings {
 public:
  explicit Settings(const std::string& hints) { setenv("PENSTOCK_HINTS", hints.c_str(), 1); }
  Settings(const Settings&) = delete;
  ~Settings() { unsetenv("PENSTOCK_HINTS"); }
};

std::string last_rank() {
  return ",rank=" + std::to_string(size() - 1);
}

/// Through interleaved ints, so that every aggregator writes and reads for all.
void set_view(MPI_File file) {
  const Type every(cyclic_ints(rank(), size()));
  EXPECT_MPI(MPI_File_set_view(file, 0, MPI_INT, every, "native", MPI_INFO_NULL));
}

TEST(Faults, OneRanksErrorOfAWriteReachesAll) {
  const Settings settings("active_buffer_size=0;method=two-phase;aggregators=" +
                          std::to_string(size()) + ";device=fault:write@0+=EIO" + last_rank());
  const File file("write_error");
  set_view(file);
  const std::vector<int> mine(ints, rank());
  EXPECT_CLASS(MPI_File_write_all(file, mine.data(), ints, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_IO);
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_File_iwrite_at_all(file, 0, mine.data(), ints, MPI_INT, &request);
  EXPECT_CLASS(code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_IO);
  code = MPI_File_write_at_all_begin(file, 0, mine.data(), ints, MPI_INT);
  if (code == MPI_SUCCESS) code = MPI_File_write_at_all_end(file, mine.data(), MPI_STATUS_IGNORE);
  EXPECT_CLASS(code, MPI_ERR_IO);
}

TEST(Faults, OneRanksErrorOfAReadReachesAll) {
  make_file(path_of("read_error"), std::vector<int>(static_cast<std::size_t>(ints * size()), 5));
  const Settings settings("method=two-phase;aggregators=" + std::to_string(size()) +
                          ";device=fault:read@0=EIO" + last_rank());
  const File file("read_error", MPI_MODE_RDONLY);
  set_view(file);
  std::vector<int> mine(ints, -1);
  EXPECT_CLASS(MPI_File_read_all(file, mine.data(), ints, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_IO);
  MPI_Status status;
  EXPECT_MPI(MPI_File_read_at_all(file, 0, mine.data(), ints, MPI_INT, &status));
  EXPECT_EQ(count_of(status), ints);
  EXPECT_EQ(std::ranges::count(mine, 5), ints);
}

TEST(Faults, FullDiskIsToldByTheWrite) {
  const Settings settings("active_buffer_size=0;device=fault:write@0+=ENOSPC");
  const File file("full");
  const std::vector<int> mine(ints, rank());
  EXPECT_CLASS(MPI_File_write_at_all(file, place(), mine.data(), ints, MPI_INT, MPI_STATUS_IGNORE),
               MPI_ERR_NO_SPACE);
  EXPECT_CLASS(MPI_File_write_at(file, place(), mine.data(), ints, MPI_INT, MPI_STATUS_IGNORE),
               MPI_ERR_NO_SPACE);
}

TEST(Faults, QuotaHasAClassOfItsOwn) {
  const Settings settings("active_buffer_size=0;device=fault:write@0+=EDQUOT" + last_rank());
  const File file("quota");
  const std::vector<int> mine(ints, rank());
  const int code = MPI_File_write_at(file, place(), mine.data(), ints, MPI_INT, MPI_STATUS_IGNORE);
  EXPECT_CLASS(code, rank() == size() - 1 ? MPI_ERR_QUOTA : MPI_SUCCESS);
}

/// Writes that were accepted and could not be carried out: reported by sync at the latest, on all
/// ranks.
TEST(Faults, FullDiskIsToldBySyncOfBufferedWrites) {
  const Settings settings("active_buffer_size=8M;device=paced:bandwidth=1G+fault:write@0+=ENOSPC" +
                          last_rank());
  MPI_File file = MPI_FILE_NULL;
  EXPECT_MPI(MPI_File_open(MPI_COMM_WORLD, path_of("full_later").c_str(), read_write, MPI_INFO_NULL,
                           &file));
  const std::vector<int> mine(ints, rank());
  const int code = MPI_File_write_at(file, place(), mine.data(), ints, MPI_INT, MPI_STATUS_IGNORE);
  const bool reported = code != MPI_SUCCESS;
  if (reported) EXPECT_CLASS(code, MPI_ERR_NO_SPACE);
  if (sum(reported) == 0) EXPECT_CLASS(MPI_File_sync(file), MPI_ERR_NO_SPACE);
  MPI_File_close(&file);
  EXPECT_EQ(file, MPI_FILE_NULL);
}

TEST(Faults, FullDiskIsToldByCloseOfBufferedWrites) {
  const Settings settings("active_buffer_size=8M;device=paced:bandwidth=1G+fault:write@0+=ENOSPC" +
                          last_rank());
  MPI_File file = MPI_FILE_NULL;
  EXPECT_MPI(MPI_File_open(MPI_COMM_WORLD, path_of("full_at_close").c_str(), read_write,
                           MPI_INFO_NULL, &file));
  const std::vector<int> mine(ints, rank());
  const int code = MPI_File_write_at(file, place(), mine.data(), ints, MPI_INT, MPI_STATUS_IGNORE);
  const std::int64_t reported = sum(code != MPI_SUCCESS);
  EXPECT_CLASS(MPI_File_close(&file), reported > 0 ? MPI_SUCCESS : MPI_ERR_NO_SPACE);
  EXPECT_EQ(file, MPI_FILE_NULL);
}

TEST(Faults, ShortAndInterruptedTransfersAreCompleted) {
  const Settings settings(
      "active_buffer_size=0;device=fault:write@0=short,write@1=EINTR,read@0=short");
  File file("short");
  const std::vector<int> mine(ints, rank() + 1);
  MPI_Status status;
  EXPECT_MPI(MPI_File_write_at_all(file, place(), mine.data(), ints, MPI_INT, &status));
  EXPECT_EQ(count_of(status), ints);
  std::vector<int> back(ints, -1);
  EXPECT_MPI(MPI_File_read_at_all(file, place(), back.data(), ints, MPI_INT, &status));
  EXPECT_EQ(count_of(status), ints);
  EXPECT_EQ(back, mine);
}

TEST(Faults, SyncAndSizeThatFail) {
  {
    const Settings settings("device=fault:sync@0=EIO" + last_rank());
    const File file("sync_error");
    EXPECT_CLASS(MPI_File_sync(file), MPI_ERR_IO);
    EXPECT_MPI(MPI_File_sync(file));
  }
  const Settings settings("device=fault:resize@0=ENOSPC");
  const File file("resize_error");
  EXPECT_CLASS(MPI_File_set_size(file, 1000), MPI_ERR_NO_SPACE);
}

/// As everywhere in Unix, its bytes can be written and read until it is closed.
TEST(Faults, FileDeletedUnderneath) {
  File file("deleted");
  const std::vector<int> mine(ints, rank() + 1);
  EXPECT_MPI(MPI_File_write_at_all(file, place(), mine.data(), ints, MPI_INT, MPI_STATUS_IGNORE));
  barrier();
  if (rank() == 0) ::unlink(file.path.c_str());
  barrier();
  EXPECT_MPI(MPI_File_write_at_all(file, place(), mine.data(), ints, MPI_INT, MPI_STATUS_IGNORE));
  std::vector<int> back(ints);
  EXPECT_MPI(MPI_File_read_at_all(file, place(), back.data(), ints, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT_EQ(back, mine);
  EXPECT_MPI(MPI_File_sync(file));
  file.close();
  EXPECT_FALSE(exists(file.path));
}

TEST(Faults, FileDeletedBeforeItIsDeletedOnClose) {
  MPI_File file = MPI_FILE_NULL;
  const std::string path = path_of("deleted_twice");
  EXPECT_MPI(MPI_File_open(MPI_COMM_WORLD, path.c_str(), read_write | MPI_MODE_DELETE_ON_CLOSE,
                           MPI_INFO_NULL, &file));
  if (rank() == 0) ::unlink(path.c_str());
  barrier();
  EXPECT_CLASS(MPI_File_close(&file), MPI_ERR_NO_SUCH_FILE);
  EXPECT_EQ(file, MPI_FILE_NULL);
}

/// No other files: no locks, nothing for shared pointers.
TEST(Faults, NothingIsLeftBehind) {
  const std::string folder = path_of("folder");
  if (rank() == 0) ::mkdir(folder.c_str(), 0700);
  barrier();
  {
    const File file("folder/only");
    const int mine = rank();
    EXPECT_MPI(MPI_File_write_shared(file, &mine, 1, MPI_INT, MPI_STATUS_IGNORE));
    EXPECT_MPI(MPI_File_write_ordered(file, &mine, 1, MPI_INT, MPI_STATUS_IGNORE));
    EXPECT_MPI(MPI_File_set_atomicity(file, 1));
    EXPECT_MPI(MPI_File_write_at(file, 0, &mine, 1, MPI_INT, MPI_STATUS_IGNORE));
  }
  barrier();
  std::vector<std::string> names;
  DIR* const listing = ::opendir(folder.c_str());
  while (const dirent* const entry = ::readdir(listing)) names.emplace_back(entry->d_name);
  ::closedir(listing);
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{".", "..", "only"}));
  barrier();
}

}  // namespace
