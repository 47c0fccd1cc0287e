#include "trace/trace_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>

#include <penstock/error.hpp>

#include "base/failure.hpp"

namespace penstock::trace {
namespace {

constexpr std::size_t names_begin = 4096, records_begin = 65536;

template <class Clock>
std::int64_t now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

/// Allocates a range of the file, and its pages in the page cache. 0, or an errno. Writing makes
/// pages of the length of a write if the file system supports that; a mapping alone makes them 4
/// KiB at a time, which takes twice as long.
int make_space(int file, std::int64_t begin, std::int64_t end) noexcept {
  alignas(4096) static const std::array<std::byte, 65536> zeros{};
  if (const int error = ::posix_fallocate(file, begin, end - begin); error != 0) return error;
  while (begin < end) {
    const auto bytes = std::min<std::int64_t>(end - begin, zeros.size());
    const ssize_t written = ::pwrite(file, zeros.data(), static_cast<std::size_t>(bytes), begin);
    if (written < 0 && errno != EINTR) return errno;
    begin += std::max<ssize_t>(written, 0);
  }
  return 0;
}

}  // namespace

/// The products are independent, so that a processor computes them in parallel.
std::uint32_t check_of(const Record& record) noexcept {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;
  const auto words = std::bit_cast<std::array<std::uint64_t, 8>>(record);
  std::uint64_t sum = factor;
  for (std::size_t i = 0; i < 7; ++i) sum += (words[i] ^ (words[i] >> 29)) * (factor + 2 * i);
  return static_cast<std::uint32_t>(sum >> 32) | 1;
}

TraceFile::TraceFile(const std::string& path, std::int64_t limit, WhenFull when_full)
    : path_(path), wraps_(when_full == WhenFull::newest) {
  const std::int64_t bytes = std::max(limit, least_limit) / block * block;
  capacity_ = static_cast<std::uint64_t>(bytes) / sizeof(Record);
  mapped_ = records_begin + static_cast<std::size_t>(bytes);
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file_ < 0) throw_errno("making the trace", path, -errno);
  // Addresses for the maximal size; what the file does not have yet is not touched.
  void* const address = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  base_ = static_cast<std::byte*>(address);
  int error = address == MAP_FAILED ? errno : ::posix_fallocate(file_, 0, records_begin);
  if (error == 0) {
    header_ = new (base_) Header;
    header_->capacity = capacity_;
    header_->when_full = when_full;
    header_->monotonic = now<std::chrono::steady_clock>();
    header_->realtime = now<std::chrono::system_clock>();
    header_->pid = ::getpid();
    ::gethostname(header_->host, sizeof header_->host - 1);
    std::snprintf(header_->program, sizeof header_->program, "%s", program_invocation_short_name);
    if (!reach(block)) error = header_->stopped;
  }
  if (error == 0) return;
  if (address != MAP_FAILED) ::munmap(base_, mapped_);
  ::close(file_);
  ::unlink(path.c_str());
  throw_errno("making the trace", path, -error);
}

TraceFile::~TraceFile() {
  ::munmap(base_, mapped_);
  ::close(file_);
}

/// Whether the file has space for that many bytes of records. Reports once if not.
bool TraceFile::reach(std::int64_t end) noexcept {
  const std::lock_guard guard(growing_);
  std::int64_t space = space_.load(std::memory_order_relaxed);
  if (end <= space) return true;
  if (header_->stopped != 0) return false;
  const std::int64_t target = (end + block - 1) / block * block;
  const auto from = static_cast<off_t>(records_begin) + space;
  const off_t to = from + (target - space);
  if (const int error = make_space(file_, from, to); error != 0) {
    header_->stopped = error;
    std::fprintf(stderr,
                 "penstock: the trace '%s' ends here, since there is no space for more: %s (errno "
                 "%d); the program continues\n",
                 path_.c_str(), std::strerror(error), error);
    return false;
  }
#ifdef MADV_POPULATE_WRITE
  // Populating all pages at once is cheaper than one fault each. If the kernel cannot, they are
  // faulted in.
  ::madvise(base_ + from, static_cast<std::size_t>(target - space), MADV_POPULATE_WRITE);
#endif
  space_.store(target, std::memory_order_release);
  return true;
}

void TraceFile::add(Record& record) noexcept {
  record.index = header_->recorded.fetch_add(1, std::memory_order_relaxed);
  if (record.index >= capacity_) {
    if (record.index == capacity_)
      std::fprintf(
          stderr,
          "penstock: the trace '%s' is full (%llu records): %s; PENSTOCK_TRACE_LIMIT=BYTES "
          "makes it larger\n",
          path_.c_str(), static_cast<unsigned long long>(capacity_),
          wraps_ ? "new records replace the oldest" : "nothing more is recorded");
    if (!wraps_) return;
  }
  const std::uint64_t slot = record.index < capacity_ ? record.index : record.index % capacity_;
  const auto end = static_cast<std::int64_t>((slot + 1) * sizeof(Record));
  if (end > space_.load(std::memory_order_acquire) && !reach(end)) return;
  record.check = check_of(record);
  std::byte* const at = base_ + records_begin + slot * sizeof(Record);
  std::memcpy(at, &record, sizeof record);
  // Prefetches the next records' cache lines, during other work of the program.
  __builtin_prefetch(at + 2 * sizeof(Record), 1);
}

bool TraceFile::name(Named what, std::uint32_t number, std::string_view text,
                     std::size_t room_left) {
  struct Entry {
    Named what;
    std::uint16_t length;
    std::uint32_t number;
  };
  const std::lock_guard guard(naming_);
  static_assert(names_begin % sizeof(Entry) == 0);
  const std::size_t bytes = (sizeof(Entry) + text.size() + 7) / 8 * 8;
  if (text.empty() || names_end_ + bytes + sizeof(Entry) + room_left > records_begin) return false;
  const Entry entry{what, static_cast<std::uint16_t>(text.size()), number};
  std::byte* const at = base_ + names_end_;
  std::memcpy(at + sizeof entry, text.data(), text.size());
  // Last: in the file of a killed process an entry is complete or absent.
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at))
      .store(std::bit_cast<std::uint64_t>(entry), std::memory_order_release);
  names_end_ += bytes;
  return true;
}

}  // namespace penstock::trace
