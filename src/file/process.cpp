#include "file/process.hpp"

#include <pthread.h>

#include <cstdlib>

namespace penstock {

BackgroundIo& background_of_process() {
  // Never destroyed: files of static storage duration may still be closed at exit.
  static BackgroundIo* const background = [] {
    std::atexit([] { background_of_process().finish(); });
    ::pthread_atfork([] { background_of_process().lock_for_fork(); },
                     [] { background_of_process().unlock_after_fork(); },
                     [] { background_of_process().forget_after_fork(); });
    return new BackgroundIo;
  }();
  return *background;
}

}  // namespace penstock
