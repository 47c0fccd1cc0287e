#include "background/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/file_limit.hpp"

namespace penstock {
namespace {

constexpr std::int64_t page = 4096, huge_page = std::int64_t{2} << 20;
/// Size of the mapping, which is address space: memory is allocated by commit(). If a limit of the
/// process refuses that much, a quarter is tried, and so on down to `least`.
constexpr std::int64_t largest = std::int64_t{16} << 30, least = std::int64_t{1} << 28;

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::int64_t rounded(std::int64_t bytes) {
  return round_up(std::max<std::int64_t>(bytes, 1), bytes < page ? 64 : page);
}

/// Huge pages, and no copy of the mapping in core dumps. The arena works without either, so
/// failures are ignored.
void advise(void* base, std::size_t size) {
  ::madvise(base, size, MADV_HUGEPAGE);
  ::madvise(base, size, MADV_DONTDUMP);
}

}  // namespace

Arena::~Arena() {
  if (view_.base != nullptr) ::munmap(view_.base, static_cast<std::size_t>(view_.size));
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool Arena::open() {
  return view_.base != nullptr || open_shared() || open_private();
}

bool Arena::open_shared() {
  descriptor_ = ::memfd_create("penstock", MFD_CLOEXEC);
  if (descriptor_ < 0) return false;
  for (std::int64_t size = std::min(largest, largest_file()); size >= least; size /= 4) {
    if (::ftruncate(descriptor_, size) != 0) break;
    view_ = map(descriptor_);
    if (view_.base != nullptr) return true;
  }
  ::close(descriptor_);
  descriptor_ = -1;
  return false;
}

bool Arena::open_private() {
  for (std::int64_t size = largest; size >= least; size /= 4) {
    const auto bytes = static_cast<std::size_t>(size);
    void* const base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) continue;
    advise(base, bytes);
    view_ = {static_cast<std::byte*>(base), size};
    return true;
  }
  return false;
}

ArenaView Arena::map(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const base =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (base == MAP_FAILED) return {};
  advise(base, size);
  return {static_cast<std::byte*>(base), status.st_size};
}

/// Allocates memory up to `end` now. If it were allocated at the first touch, a lack of memory
/// would end the program by SIGBUS; here it returns false.
bool Arena::commit(std::int64_t end) {
  if (end <= committed_) return true;
  const std::int64_t to = std::min(view_.size, round_up(end, huge_page));
  if (end > to) return false;
  const auto length = static_cast<std::size_t>(to - committed_);
#ifndef MADV_POPULATE_WRITE
  constexpr int MADV_POPULATE_WRITE = 23;
#endif
  if (::madvise(view_.base + committed_, length, MADV_POPULATE_WRITE) != 0 &&
      (errno != EINVAL ||  // kernels before 5.14
       (descriptor_ >= 0 && ::posix_fallocate(descriptor_, committed_, to - committed_) != 0)))
    return false;
  committed_ = to;
  return true;
}

std::int64_t Arena::take(std::int64_t bytes, std::int64_t end) {
  bytes = rounded(bytes);
  const std::int64_t unit = bytes < page ? 64 : page;
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const std::int64_t first = range->first, last = first + range->second;
    const std::int64_t begin = round_up(first, unit);
    if (begin + bytes > last) continue;
    free_.erase(range);
    if (first < begin) free_[first] = begin - first;
    if (begin + bytes < last) free_[begin + bytes] = last - begin - bytes;
    return begin;
  }
  // At the end, joined with the free range there.
  std::int64_t first = top_;
  if (!free_.empty() && std::prev(free_.end())->first + std::prev(free_.end())->second == top_)
    first = std::prev(free_.end())->first;
  const std::int64_t begin = round_up(first, unit);
  if (begin + bytes > end || !commit(begin + bytes)) return none;
  if (first < top_) free_.erase(first);
  if (first < begin) free_[first] = begin - first;
  top_ = begin + bytes;
  return begin;
}

void Arena::give(std::int64_t offset, std::int64_t bytes) {
  bytes = rounded(bytes);
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_[offset] = bytes;
}

void Arena::trim(std::int64_t end) {
  if (!free_.empty()) {
    const auto last = std::prev(free_.end());
    if (last->first + last->second == top_) {
      top_ = last->first;
      free_.erase(last);
    }
  }
  const std::int64_t keep = round_up(std::max(end, top_), huge_page);
  if (keep >= committed_) return;
  if (descriptor_ < 0)
    ::madvise(view_.base + keep, static_cast<std::size_t>(committed_ - keep), MADV_DONTNEED);
  else
    ::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, keep, committed_ - keep);
  committed_ = keep;
}

}  // namespace penstock
