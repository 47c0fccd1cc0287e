// Temporarily limits the size of this process's files, and of memory that is one (memfd).
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace penstock::test {

class SmallFiles {
 public:
  explicit SmallFiles(rlim_t most_bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit lower{most_bytes, limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &lower);
  }
  SmallFiles(const SmallFiles&) = delete;
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit limit_{};
};

}  // namespace penstock::test
