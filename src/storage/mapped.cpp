#include "storage/mapped.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <mutex>

namespace penstock {
namespace {

/// What this thread copies from, for the handler, which runs in the thread that touched the page.
struct Source {
  std::uintptr_t begin = 0, end = 0;
  volatile std::sig_atomic_t incomplete = 0;
};
thread_local Source source;

struct sigaction before;  // the handler that was there

std::uintptr_t page_size() noexcept {
  static const auto size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

/// Zeros from this page to the end of the range, so that the copying can go on to its end.
bool replace_by_zeros(std::uintptr_t address) noexcept {
  const int number = errno;
  const std::uintptr_t first = address & ~(page_size() - 1);
  const void* const zeros =
      ::mmap(reinterpret_cast<void*>(first), source.end - first, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  errno = number;
  return zeros != MAP_FAILED;
}

void handle(int number, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (info->si_code > 0 && address >= source.begin && address < source.end &&
      replace_by_zeros(address)) {
    source.incomplete = 1;
    return;
  }
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    return before.sa_handler(number);
  // As without this handler: the access is repeated on return; a signal that was sent comes again.
  ::sigaction(number, &before, nullptr);
  if (info->si_code <= 0) ::raise(number);
}

/// Whether faults of this thread come to handle(), which is made the handler by the first call.
bool handles_faults() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction own {};
    own.sa_sigaction = handle;
    own.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    ::sigemptyset(&own.sa_mask);
    if (::sigaction(SIGBUS, nullptr, &before) == 0) ::sigaction(SIGBUS, &own, nullptr);
  });
  struct sigaction now {};
  return ::sigaction(SIGBUS, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
         now.sa_sigaction == handle;
}

/// While it exists, it is this thread's source.
class Mapping {
 public:
  Mapping(int fd, Extent range) : size_(static_cast<std::size_t>(range.length())) {
    void* const address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, range.begin);
    if (address == MAP_FAILED) return;
    address_ = static_cast<std::byte*>(address);
    source.begin = reinterpret_cast<std::uintptr_t>(address);
    source.end = source.begin + size_;
    source.incomplete = 0;
  }
  Mapping(const Mapping&) = delete;
  ~Mapping() {
    if (address_ == nullptr) return;
    source.begin = source.end = 0;
    ::munmap(address_, size_);
  }
  const std::byte* address() const noexcept { return address_; }
  bool is_complete() const noexcept { return source.incomplete == 0; }

 private:
  std::byte* address_ = nullptr;
  std::size_t size_;
};

}  // namespace

bool read_mapped_file(int fd, Extent range, const Storage::MappedCopy& copy) {
  struct stat status {};
  if (range.empty() || ::fstat(fd, &status) != 0 || range.end > status.st_size) return false;
  if (!handles_faults()) return false;
  const auto page = static_cast<std::int64_t>(page_size());
  const Extent pages{range.begin / page * page, range.end};
  const Mapping mapping(fd, pages);
  if (mapping.address() == nullptr) return false;
  copy(mapping.address() + (range.begin - pages.begin));
  return mapping.is_complete();
}

}  // namespace penstock
