#include "support/sync_log.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <utility>

namespace penstock::test {
namespace {

std::mutex synced_mutex;
std::vector<Synced> synced_log;

void note_synced(int fd, bool with_attributes) {
  std::error_code error;
  Synced one{};
  one.path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error).string();
  std::ifstream file(one.path, std::ios::binary);
  if (std::filesystem::is_regular_file(one.path, error))
    one.content.assign(std::istreambuf_iterator<char>(file), {});
  one.past_cache = (::fcntl(fd, F_GETFL) & O_DIRECT) != 0;
  one.with_attributes = with_attributes;
  const std::lock_guard guard(synced_mutex);
  synced_log.push_back(std::move(one));
}

}  // namespace

std::vector<Synced> take_synced() {
  const std::lock_guard guard(synced_mutex);
  return std::exchange(synced_log, {});
}

bool has_path(const std::vector<Synced>& synced, const std::string& path) {
  return std::ranges::find(synced, std::filesystem::canonical(path).string(), &Synced::path) !=
         synced.end();
}

}  // namespace penstock::test

extern "C" int fsync(int fd) {
  penstock::test::note_synced(fd, true);
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
extern "C" int fdatasync(int fd) {
  penstock::test::note_synced(fd, false);
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}
