#include "background/placement.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace penstock {
namespace {

void complain(const char* what) noexcept {
  static std::atomic<bool> complained = false;
  if (complained.exchange(true)) return;
  std::fprintf(stderr, "penstock: the I/O thread runs without %s: %s\n", what,
               std::strerror(errno));
}

/// A thread's current settings.
struct ThreadSettings {
  cpu_set_t cores;
  int policy, nice;

  explicit ThreadSettings(pid_t thread) noexcept {
    CPU_ZERO(&cores);
    ::sched_getaffinity(thread, sizeof cores, &cores);
    policy = ::sched_getscheduler(thread);
    nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(thread));
  }
};

void set_policy(const Placement& wanted, const ThreadSettings& program) noexcept {
  const sched_param none{};
  int policy = wanted.policy < 0 ? program.policy : wanted.policy;
  if (wanted.policy == Placement::gentle && policy == SCHED_OTHER) policy = SCHED_BATCH;
  if (::sched_setscheduler(0, policy, &none) != 0) complain("the policy that io_thread asks for");
}

void set_nice(const Placement& wanted, const ThreadSettings& program) noexcept {
  const int nice = std::min(19, program.nice + wanted.nice);
  if (::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), nice) != 0)
    complain("the nice value that io_thread asks for");
}

void set_core(const Placement& wanted, const ThreadSettings& program) noexcept {
  cpu_set_t cores = program.cores;
  if (wanted.core >= 0) {
    CPU_ZERO(&cores);
    CPU_SET(static_cast<std::size_t>(wanted.core), &cores);
  }
  if (::sched_setaffinity(0, sizeof cores, &cores) != 0)
    complain("the core that io_thread asks for");
}

}  // namespace

/// Settings are relative to those of the program's main thread. A thread starts with those of the
/// thread that started it, which may have been placed itself.
void place_thread(const Placement& wanted) noexcept {
  thread_local const ThreadSettings program(::getpid()), begun(::gettid());
  thread_local bool first = true;
  thread_local Placement now;
  if (wanted == now && !first) return;
  if (wanted.policy != now.policy || (first && begun.policy != program.policy))
    set_policy(wanted, program);
  if (wanted.nice != now.nice || (first && begun.nice != program.nice)) set_nice(wanted, program);
  if (wanted.core != now.core || (first && !CPU_EQUAL(&begun.cores, &program.cores)))
    set_core(wanted, program);
  first = false;
  now = wanted;
}

}  // namespace penstock
