#include "background/placement.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace penstock {
namespace {

void complain(bool& complained, const char* what) noexcept {
  if (complained) return;
  complained = true;
  std::fprintf(stderr, "penstock: the I/O thread runs without %s: %s\n", what,
               std::strerror(errno));
}

/// As the thread was when it started: what settings count from, and go back to.
struct Origin {
  cpu_set_t cores;
  int policy, nice;

  Origin() noexcept {
    CPU_ZERO(&cores);
    ::sched_getaffinity(0, sizeof cores, &cores);
    policy = ::sched_getscheduler(0);
    nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
  }
};

}  // namespace

void place_thread(const Placement& wanted) noexcept {
  thread_local Placement now;
  if (wanted == now) return;
  thread_local const Origin origin;
  static bool complained = false;  // one I/O thread a process
  if (wanted.policy != now.policy) {
    const sched_param none{};
    const int policy = wanted.policy < 0 ? origin.policy : wanted.policy;
    if (::sched_setscheduler(0, policy, &none) != 0) complain(complained, "the wanted io_policy");
  }
  if (wanted.nice != now.nice) {
    const int nice = std::min(19, origin.nice + wanted.nice);
    if (::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), nice) != 0)
      complain(complained, "the wanted io_nice");
  }
  if (wanted.core != now.core) {
    cpu_set_t cores = origin.cores;
    if (wanted.core >= 0) {
      CPU_ZERO(&cores);
      CPU_SET(static_cast<std::size_t>(wanted.core), &cores);
    }
    if (::sched_setaffinity(0, sizeof cores, &cores) != 0)
      complain(complained, "the wanted io_core");
  }
  now = wanted;
}

}  // namespace penstock
