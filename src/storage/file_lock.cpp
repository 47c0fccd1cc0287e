#include "storage/file_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/failure.hpp"
#include "base/patience.hpp"
#include "storage/posix.hpp"

namespace penstock {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

struct flock lock_of(short type, Extent range) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = range.begin;
  lock.l_len = range.length();
  return lock;
}

/// Whether one of a process's open files has a lock with this text, as the kernel shows it: "lock:
/// 1: OFDLCK ADVISORY WRITE -1 08:02:INODE BEGIN LAST".
bool has_lock(const fs::path& process, const std::string& text) {
  std::error_code error;
  for (fs::directory_iterator file(process / "fdinfo", error), end; !error && file != end;
       file.increment(error)) {
    std::ifstream lines(file->path());
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("lock:") && line.find(text) != std::string::npos) return true;
  }
  return false;
}

/// The kernel names no process for OFD locks, so this searches for processes that show such a lock.
std::string holder_of(int fd, const struct flock& lock) {
  if (lock.l_pid > 0) return "process " + std::to_string(lock.l_pid);
  struct stat status {};
  if (::fstat(fd, &status) != 0) return "another open file";
  const std::string text =
      ":" + std::to_string(status.st_ino) + " " + std::to_string(lock.l_start) + " ";
  std::string found;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (has_lock(entry->path(), text)) found += (found.empty() ? "process " : " or ") + name;
  }
  return found.empty() ? "a process that cannot be seen from here" : found;
}

void report_holder(int fd, struct flock lock, Extent range, const std::string& path, bool ends) {
  if (::fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return;
  const std::string last = lock.l_len == 0 ? "the end" : std::to_string(lock.l_start + lock.l_len);
  std::fprintf(stderr,
               "penstock: '%s': waited for %lld s for a lock on bytes %lld to %lld; %s has bytes "
               "%lld to %s of it locked%s\n",
               path.c_str(), static_cast<long long>(Patience::get().limit / 1s),
               static_cast<long long>(range.begin), static_cast<long long>(range.end),
               holder_of(fd, lock).c_str(), static_cast<long long>(lock.l_start), last.c_str(),
               ends ? "" : ". It keeps waiting");
}

/// There is no lock call with a timeout, so this polls. Returns 0, an errno, or ETIMEDOUT.
int try_for_a_while(int fd, struct flock lock) {
  constexpr std::chrono::nanoseconds shortest = 20us, longest = 1ms;
  const Clock::time_point begin = Clock::now();
  for (;;) {
    const std::chrono::nanoseconds waited = Clock::now() - begin;
    if (waited >= Patience::get().limit) return ETIMEDOUT;
    std::this_thread::sleep_for(std::clamp(waited / 8, shortest, longest));
    const int code = uninterrupted([&] { return ::fcntl(fd, F_OFD_SETLK, &lock); });
    if (code == 0) return 0;
    if (errno != EAGAIN && errno != EACCES) return errno;
  }
}

}  // namespace

int set_lock(int fd, short type, Extent range, const std::string& path) {
  struct flock lock = lock_of(type, range);
  if (uninterrupted([&] { return ::fcntl(fd, F_OFD_SETLK, &lock); }) == 0) return 0;
  if (errno != EAGAIN && errno != EACCES) return errno;
  const Patience& patience = Patience::get();
  if (patience.limit > 0s) {
    const int code = try_for_a_while(fd, lock);
    if (code != ETIMEDOUT) return code;
    report_holder(fd, lock, range, path, patience.raises);
    if (patience.raises) return code;
  }
  return uninterrupted([&] { return ::fcntl(fd, F_OFD_SETLKW, &lock); }) < 0 ? errno : 0;
}

}  // namespace penstock
