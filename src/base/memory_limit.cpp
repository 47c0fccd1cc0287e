#include "base/memory_limit.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <fstream>

namespace penstock {
namespace {

bool is_limited(decltype(RLIMIT_AS) resource) noexcept {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

bool system_refuses() {
  static const bool refuses = [] {
    std::ifstream setting("/proc/sys/vm/overcommit_memory");
    return setting.get() == '2';
  }();
  return refuses;
}

/// Without touching the memory.
bool is_obtainable(std::int64_t bytes) noexcept {
  const auto length = static_cast<std::size_t>(bytes);
  void* const memory =
      ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  ::munmap(memory, length);
  return true;
}

}  // namespace

std::int64_t obtainable_memory(std::int64_t most) noexcept {
  if (!is_limited(RLIMIT_AS) && !is_limited(RLIMIT_DATA) && !system_refuses())
    return no_memory_limit;
  if (is_obtainable(most)) return most;
  constexpr std::int64_t near_enough = 256 * 1024;
  std::int64_t least = 0;
  while (most - least > near_enough) {
    const std::int64_t middle = least + (most - least) / 2;
    (is_obtainable(middle) ? least : most) = middle;
  }
  return least;
}

}  // namespace penstock
