#include "mpi/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file_limit.hpp"

namespace penstock {

SharedSegment::Invitation SharedSegment::create(std::int64_t bytes) {
  if (bytes > largest_file()) return {{}, EFBIG};
  descriptor_ = ::memfd_create("penstock-common", MFD_CLOEXEC);
  if (descriptor_ < 0) return {{}, errno};
  // Not ftruncate, which would report too little memory only by SIGBUS at the first touch.
  int error = ::posix_fallocate(descriptor_, 0, bytes);
  if (error == 0) error = map(bytes);
  return {LentFile::of(descriptor_), error};
}

int SharedSegment::join(const Invitation& invitation, std::int64_t bytes) {
  descriptor_ = invitation.file.open();
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
  segment.close_descriptor();
  if (error == 0) return segment;
  why = why_not_lent(error);
  return {};
}

void SharedSegment::close_descriptor() noexcept {
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
  close_descriptor();
  if (data_ != nullptr) ::munmap(data_, static_cast<std::size_t>(size_));
}

}  // namespace penstock
