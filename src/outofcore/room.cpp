#include "outofcore/room.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>

#include <penstock/tile_budget.hpp>

namespace penstock {
namespace {

constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::max();

/// The number behind a name in a file of lines "name number"; -1: not found.
std::int64_t number_in(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  for (std::int64_t number = 0; file >> word;) {
    if (word == name && file >> number) return number;
    file.clear();
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return -1;
}

std::int64_t number_of(const std::string& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? number : -1;
}

/// For a control group of version 2, as a container sees its own.
std::int64_t memory_of_group(const std::string& root) {
  const std::string group = root + "/sys/fs/cgroup/memory";
  const std::int64_t limit = number_of(group + ".max"), used = number_of(group + ".current");
  const std::int64_t cache = number_in(group + ".stat", "inactive_file");
  if (limit < 0 || used < 0) return unknown;
  return std::max<std::int64_t>(limit - used + std::max<std::int64_t>(cache, 0), 0);
}

std::int64_t free_disk(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const auto space = std::filesystem::space(folder, error);
  if (error) return unknown;
  const auto old = std::filesystem::file_size(path, error);
  const std::uintmax_t there = space.available + (error ? 0 : old);
  return static_cast<std::int64_t>(std::min<std::uintmax_t>(there, unknown));
}

}  // namespace

std::int64_t find_free_memory(const std::string& root) {
  constexpr std::int64_t kib = 1024;
  const std::int64_t available = number_in(root + "/proc/meminfo", "MemAvailable:");
  return std::min(available < 0 ? unknown : available * kib, memory_of_group(root));
}

Room free_room(const std::filesystem::path& path) {
  return {free_disk(path), find_free_memory()};
}

}  // namespace penstock
