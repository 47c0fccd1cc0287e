#include "mpi/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "mpi/communicator.hpp"

namespace penstock {
namespace {

/// What the rank that made the segment tells the others.
struct Invitation {
  std::int64_t process = 0;
  int descriptor = -1;
  int error = 0;
};

int create(std::int64_t bytes, int& descriptor) {
  static std::atomic<int> counter{0};
  const std::string name =
      "/penstock-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
  descriptor = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return errno;
  ::shm_unlink(name.c_str());
  // Not ftruncate: where /dev/shm is too small, that would show only as SIGBUS at the first touch.
  return ::posix_fallocate(descriptor, 0, bytes);
}

int join(const Invitation& invitation, int& descriptor) {
  const std::string path = "/proc/" + std::to_string(invitation.process) + "/fd/" +
                           std::to_string(invitation.descriptor);
  descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  return descriptor < 0 ? errno : 0;
}

int all_agree(MPI_Comm node, int error) {
  int gravest = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  Communicator::check(MPI_Iallreduce(&error, &gravest, 1, MPI_INT, MPI_MAX, node, &request),
                      "MPI_Iallreduce");
  Communicator::wait(request, "MPI_Iallreduce");
  return gravest;
}

void invite(MPI_Comm node, Invitation& invitation) {
  MPI_Request request = MPI_REQUEST_NULL;
  Communicator::check(MPI_Ibcast(&invitation, sizeof invitation, MPI_BYTE, 0, node, &request),
                      "MPI_Ibcast");
  Communicator::wait(request, "MPI_Ibcast");
}

}  // namespace

SharedSegment SharedSegment::make(MPI_Comm node, std::int64_t bytes, std::string& why) {
  int rank = 0, descriptor = -1;
  MPI_Comm_rank(node, &rank);
  Invitation invitation;
  if (rank == 0) {
    invitation.error = create(bytes, descriptor);
    invitation.process = ::getpid();
    invitation.descriptor = descriptor;
  }
  invite(node, invitation);
  int error = invitation.error;
  if (rank != 0 && error == 0) error = join(invitation, descriptor);
  void* data = MAP_FAILED;
  if (error == 0) {
    data = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
                  descriptor, 0);
    if (data == MAP_FAILED) error = errno;
  }
  error = all_agree(node, error);
  if (descriptor >= 0) ::close(descriptor);
  SharedSegment segment;
  if (data != MAP_FAILED) {
    segment.data_ = static_cast<std::byte*>(data);
    segment.size_ = bytes;
  }
  if (error == 0) return segment;
  why = std::strerror(error);
  return {};
}

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SharedSegment::~SharedSegment() {
  if (data_ != nullptr) ::munmap(data_, static_cast<std::size_t>(size_));
}

}  // namespace penstock
