// RLIMIT_FSIZE, which shared memory obeys as well.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <limits>

namespace penstock {

/// The largest file that this process may have (`ulimit -f`). Growing a file beyond it, or memory
/// that is a file (memfd, shm_open), ends the program by SIGXFSZ unless that is ignored.
inline std::int64_t largest_file() noexcept {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= static_cast<rlim_t>(most))
    return most;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

}  // namespace penstock
