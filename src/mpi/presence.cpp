#include "mpi/presence.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

namespace penstock::presence {
namespace {

constexpr const char* name = "penstock-presence";

/// The content of the memfd. Others may read it while it changes: it is only for messages.
struct Sheet {
  std::int64_t version, process;
  std::int32_t world_rank, world_size;
  std::int32_t refused;
  char opens[468];
};
constexpr std::int64_t version_of_this = 1;

Sheet* make_sheet() noexcept {
  const int descriptor = ::memfd_create(name, MFD_CLOEXEC);  // stays open, for others to read
  if (descriptor < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (::ftruncate(descriptor, sizeof(Sheet)) == 0)
    memory = ::mmap(nullptr, sizeof(Sheet), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) {
    ::close(descriptor);
    return nullptr;
  }
  auto* const sheet = static_cast<Sheet*>(memory);
  MPI_Comm_rank(MPI_COMM_WORLD, &sheet->world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &sheet->world_size);
  sheet->process = ::getpid();
  sheet->version = version_of_this;
  return sheet;
}

/// For this process's sheet: its threads write there one at a time, and the last one's open shows.
std::mutex sheet_mutex;

/// With the mutex held. Null if memory is unavailable. A forked child gets one of its own.
Sheet* own_sheet() noexcept {
  static Sheet* sheet = nullptr;
  if (sheet == nullptr || sheet->process != ::getpid()) sheet = make_sheet();
  return sheet;
}

/// 0: unknown.
long parent_of(long process) {
  char path[48], text[512];
  std::snprintf(path, sizeof path, "/proc/%ld/stat", process);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "re"), &std::fclose);
  if (file == nullptr) return 0;
  text[std::fread(text, 1, sizeof text - 1, file.get())] = '\0';
  // "PROCESS (NAME) STATE PARENT ...", where the state is one letter.
  const char* const name_end = std::strrchr(text, ')');
  return name_end != nullptr && std::strlen(name_end) > 4 ? std::strtol(name_end + 4, nullptr, 10)
                                                          : 0;
}

/// The launcher started the ranks itself, or through a shell or debugger for each.
bool have_one_launcher(long a, long b) {
  const long mine[] = {parent_of(a), parent_of(parent_of(a))};
  const long theirs[] = {parent_of(b), parent_of(parent_of(b))};
  for (const long one : mine)
    if (one > 0 && (one > 1 || one == mine[0]) && std::ranges::count(theirs, one) > 0) return true;
  return false;
}

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;
Folder open_folder(const std::string& path) {
  return {::opendir(path.c_str()), &::closedir};
}

/// The sheet that a process has as its open file `path`; nothing if that is something else.
std::optional<Sheet> read_sheet(const std::string& path, long process) {
  std::array<char, 64> target{};
  if (::readlink(path.c_str(), target.data(), target.size() - 1) < 0) return std::nullopt;
  if (std::string_view(target.data()).find(name) == std::string_view::npos) return std::nullopt;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  Sheet sheet{};
  const bool whole = ::pread(descriptor, &sheet, sizeof sheet, 0) == sizeof sheet;
  ::close(descriptor);
  // A forked child has its parent's among its open files.
  if (!whole || sheet.version != version_of_this || sheet.process != process) return std::nullopt;
  sheet.opens[sizeof sheet.opens - 1] = '\0';
  return sheet;
}

std::optional<Sheet> sheet_of(long process) {
  const std::string files = "/proc/" + std::to_string(process) + "/fd";
  const Folder folder = open_folder(files);
  while (const dirent* const entry = folder ? ::readdir(folder.get()) : nullptr)
    if (auto sheet = read_sheet(files + "/" + entry->d_name, process)) return sheet;
  return std::nullopt;
}

}  // namespace

Opening::Opening(const std::string& path) noexcept {
  const std::lock_guard guard(sheet_mutex);
  if (Sheet* const sheet = own_sheet())
    std::snprintf(sheet->opens, sizeof sheet->opens, "%s", path.c_str());
}

Opening::~Opening() {
  const std::lock_guard guard(sheet_mutex);
  if (Sheet* const sheet = own_sheet()) sheet->opens[0] = '\0';
}

void show_refusal() noexcept {
  const std::lock_guard guard(sheet_mutex);
  if (Sheet* const sheet = own_sheet()) sheet->refused = 1;
}

std::vector<Seen> look_around() {
  std::vector<Seen> all;
  std::unique_lock guard(sheet_mutex);
  const Sheet* const mine = own_sheet();
  guard.unlock();  // the part that is read does not change
  const Folder processes = open_folder("/proc");
  while (const dirent* const entry = mine && processes ? ::readdir(processes.get()) : nullptr) {
    const long process = std::strtol(entry->d_name, nullptr, 10);
    if (process <= 0 || !have_one_launcher(mine->process, process)) continue;
    const std::optional<Sheet> sheet = sheet_of(process);
    if (sheet && sheet->world_size == mine->world_size)
      all.push_back({sheet->world_rank, process, sheet->refused != 0, sheet->opens});
  }
  return all;
}

}  // namespace penstock::presence
