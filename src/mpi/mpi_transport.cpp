#include <cstring>

#include "base/checked.hpp"
#include "mpi/communicator.hpp"
#include "mpi/transport.hpp"

namespace penstock {
namespace {

static_assert(sizeof(MPI_Request) <= sizeof(std::uintptr_t));

std::uintptr_t packed(MPI_Request request) noexcept {
  std::uintptr_t handle = 0;
  std::memcpy(&handle, &request, sizeof request);
  return handle;
}

MPI_Request unpacked(std::uintptr_t handle) noexcept {
  MPI_Request request = MPI_REQUEST_NULL;
  std::memcpy(&request, &handle, sizeof request);
  return request;
}

void check(int code, const char* call) {
  Communicator::check(code, call);
}

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(MPI_Comm comm) : comm_(comm) {}

  Request send(std::span<const std::byte> bytes, int to, int tag) override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend(bytes.data(), checked_cast<int>(bytes.size()), MPI_BYTE, to, tag, comm_,
                    &request),
          "MPI_Isend");
    return make(packed(request));
  }

  Request send_synchronously(std::span<const std::byte> bytes, int to, int tag) override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Issend(bytes.data(), checked_cast<int>(bytes.size()), MPI_BYTE, to, tag, comm_,
                     &request),
          "MPI_Issend");
    return make(packed(request));
  }

  Request receive(std::span<std::byte> into, int from, int tag) override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(into.data(), checked_cast<int>(into.size()), MPI_BYTE, from, tag, comm_,
                    &request),
          "MPI_Irecv");
    return make(packed(request));
  }

  Request exchange_with_all(const ToAll& what) override {
    types_.resize(what.out_bytes.size(), MPI_BYTE);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ialltoallw(what.out, what.out_bytes.data(), what.out_offsets.data(), types_.data(),
                         what.in, what.in_bytes.data(), what.in_offsets.data(), types_.data(),
                         comm_, &request),
          "MPI_Ialltoallw");
    return make(packed(request));
  }

  std::optional<RequestDescriptor> take_descriptor(int tag) override {
    int waiting = 0;
    MPI_Status status;
    MPI_Message message = MPI_MESSAGE_NULL;
    check(MPI_Improbe(MPI_ANY_SOURCE, tag, comm_, &waiting, &message, &status), "MPI_Improbe");
    if (!waiting) return std::nullopt;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    RequestDescriptor descriptor{status.MPI_SOURCE, {}};
    descriptor.words.resize(static_cast<std::size_t>(bytes) / sizeof(std::int64_t));
    check(MPI_Mrecv(descriptor.words.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE),
          "MPI_Mrecv");
    return descriptor;
  }

  bool test(Request& request) override {
    if (!request.active()) return true;
    MPI_Request mine = unpacked(handle_of(request));
    int done = 0;
    check(MPI_Test(&mine, &done, MPI_STATUS_IGNORE), "MPI_Test");
    done ? end(request) : renew(request, packed(mine));
    return done != 0;
  }

  bool test_some(std::span<Request> requests, std::vector<int>& completed) override {
    active_.clear();
    indices_.clear();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (!requests[i].active()) continue;
      active_.push_back(unpacked(handle_of(requests[i])));
      indices_.push_back(static_cast<int>(i));
    }
    if (active_.empty()) return false;
    done_.resize(active_.size());
    int count = 0;
    check(MPI_Testsome(static_cast<int>(active_.size()), active_.data(), &count, done_.data(),
                       MPI_STATUSES_IGNORE),
          "MPI_Testsome");
    for (std::size_t i = 0; i < active_.size(); ++i)
      renew(requests[static_cast<std::size_t>(indices_[i])], packed(active_[i]));
    for (int i = 0; i < count; ++i) {
      const int index = indices_[static_cast<std::size_t>(done_[static_cast<std::size_t>(i)])];
      end(requests[static_cast<std::size_t>(index)]);
      completed.push_back(index);
    }
    return true;
  }

  void cancel(Request& request) noexcept override {
    if (!request.active()) return;
    MPI_Request mine = unpacked(handle_of(request));
    MPI_Cancel(&mine);
    MPI_Wait(&mine, MPI_STATUS_IGNORE);
    end(request);
  }

  void work() noexcept override {
    int waiting = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &waiting, MPI_STATUS_IGNORE);
  }

 private:
  MPI_Comm comm_;
  std::vector<MPI_Datatype> types_;
  // Used by test_some.
  std::vector<MPI_Request> active_;
  std::vector<int> indices_, done_;
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(MPI_Comm comm) {
  return std::make_unique<MpiTransport>(comm);
}

}  // namespace penstock
