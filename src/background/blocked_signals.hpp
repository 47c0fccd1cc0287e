#pragma once

#include <pthread.h>

#include <csignal>

namespace penstock {

/// While one exists, no signal is delivered to this thread, and never to threads that it starts
/// meanwhile: signals are handled by the program's own threads.
class BlockedSignals {
 public:
  BlockedSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace penstock
