#include "mpi/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/file_limit.hpp"

namespace penstock {

SharedSegment::Invitation SharedSegment::create(std::int64_t bytes) {
  static std::atomic<int> counter{0};
  const std::string name =
      "/penstock-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
  if (bytes > largest_file()) return {::getpid(), -1, EFBIG};
  descriptor_ = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor_ < 0) return {::getpid(), -1, errno};
  ::shm_unlink(name.c_str());
  // Not ftruncate: where /dev/shm is too small, that would show only as SIGBUS at the first touch.
  int error = ::posix_fallocate(descriptor_, 0, bytes);
  if (error == 0) error = map(bytes);
  return {::getpid(), descriptor_, error};
}

int SharedSegment::join(const Invitation& invitation, std::int64_t bytes) {
  const std::string path = "/proc/" + std::to_string(invitation.process) + "/fd/" +
                           std::to_string(invitation.descriptor);
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  return descriptor_ < 0 ? errno : map(bytes);
}

int SharedSegment::map(std::int64_t bytes) {
  void* const data = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                            MAP_SHARED, descriptor_, 0);
  if (data == MAP_FAILED) return errno;
  data_ = static_cast<std::byte*>(data);
  size_ = bytes;
  return 0;
}

SharedSegment SharedSegment::complete(SharedSegment segment, int error, std::string& why) {
  segment.seal();
  if (error == 0) return segment;
  why = std::strerror(error);
  return {};
}

void SharedSegment::seal() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

SharedSegment::~SharedSegment() {
  seal();
  if (data_ != nullptr) ::munmap(data_, static_cast<std::size_t>(size_));
}

}  // namespace penstock
