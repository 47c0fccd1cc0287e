#include "storage/mapped.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr const char* mapped_reads_variable = "PENSTOCK_MAPPED_READS";

/// What this thread copies from. For the handler, which runs in the thread that touched the page.
struct MappedSource {
  std::uintptr_t begin = 0, end = 0;
  volatile std::sig_atomic_t incomplete = 0;
};
thread_local MappedSource source;

/// "auto" if it is not set.
std::string_view setting_of_mapped_reads() noexcept {
  const char* const text = std::getenv(mapped_reads_variable);
  return text == nullptr || *text == '\0' ? "auto" : text;
}

struct sigaction before;  // the previous handler

std::uintptr_t page_size() noexcept {
  static const auto size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

/// Maps zeros from this page to the end of the range, so that the copy can run to its end.
bool replace_by_zeros(void* address) noexcept {
  const int number = errno;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t first = at & ~(page_size() - 1);
  const void* const zeros =
      ::mmap(static_cast<std::byte*>(address) - (at - first), source.end - first, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  errno = number;
  return zeros != MAP_FAILED;
}

void handle(int number, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (info->si_code > 0 && address >= source.begin && address < source.end &&
      replace_by_zeros(info->si_addr)) {
    source.incomplete = 1;
    return;
  }
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    return before.sa_handler(number);
  // As without this handler: the access is repeated on return, and a signal that was sent comes
  // again.
  ::sigaction(number, &before, nullptr);
  if (info->si_code <= 0) ::raise(number);
}

/// Whether this thread's faults reach handle(); the first call installs it.
bool handles_faults() {
  static const bool allowed = setting_of_mapped_reads() != "never";
  if (!allowed) return false;
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

/// While one exists, this thread copies from the mapping, and the handler deals with its faults.
class GuardedCopy {
 public:
  explicit GuardedCopy(const Mapping& mapping) {
    source.begin = reinterpret_cast<std::uintptr_t>(mapping.address());
    source.end = source.begin + static_cast<std::uintptr_t>(mapping.pages().length());
    source.incomplete = 0;
  }
  GuardedCopy(const GuardedCopy&) = delete;
  ~GuardedCopy() { source.begin = source.end = 0; }
  bool is_complete() const noexcept { return source.incomplete == 0; }
};

bool copy_from(const Mapping& mapping, Extent range, const Storage::MappedCopy& copy) {
  if (mapping.address() == nullptr) return false;
  const GuardedCopy copying(mapping);
  copy(mapping.address() + (range.begin - mapping.pages().begin));
  return copying.is_complete();
}

bool lies_within(Extent range, Extent pages) noexcept {
  return range.begin >= pages.begin && range.end <= pages.end;
}

}  // namespace

bool may_map_files() {
  const std::string_view text = setting_of_mapped_reads();
  if (text != "auto" && text != "never")
    throw Error(ErrorClass::argument, std::string(mapped_reads_variable) + " is '" +
                                          std::string(text) + "'; known are auto, never");
  return text == "auto";
}

Mapping::Mapping(int fd, Extent pages) : pages_(pages) {
  const auto size = static_cast<std::size_t>(pages.length());
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, pages.begin);
  if (address != MAP_FAILED) address_ = static_cast<std::byte*>(address);
}

Mapping::~Mapping() {
  if (address_ != nullptr) ::munmap(address_, static_cast<std::size_t>(pages_.length()));
}

bool MappedFile::read(int fd, Extent range, const Storage::MappedCopy& copy) {
  struct stat status {};
  if (range.empty() || ::fstat(fd, &status) != 0 || range.end > status.st_size) return false;
  if (!handles_faults()) return false;
  const auto page = static_cast<std::int64_t>(page_size());
  const Extent pages{range.begin / page * page, (range.end + page - 1) / page * page};
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard || pages.length() > most_kept) return copy_from(Mapping(fd, pages), range, copy);
  if (!kept_ || !lies_within(range, kept_->pages())) kept_.emplace(fd, pages);
  const bool complete = copy_from(*kept_, range, copy);
  if (!complete) kept_.reset();  // it has zeros in place of the file's bytes
  return complete;
}

}  // namespace penstock
