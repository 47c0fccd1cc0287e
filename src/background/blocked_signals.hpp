// BlockedSignals: around the start of a thread.
#pragma once

#include <pthread.h>

#include <csignal>

namespace penstock {

/// While one exists, no signal is delivered to this thread. A thread that it starts meanwhile gets
/// none for as long as it lives: signals are the program's business, and its own threads take them.
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
