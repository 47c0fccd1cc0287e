#include "mpi/discover.hpp"

#include <algorithm>

#include "mpi/agree.hpp"

namespace penstock {
namespace {

/// Sends descriptors and receives those that arrive meanwhile. The words sent must stay allocated
/// until all sends are complete.
class DescriptorExchange {
 public:
  DescriptorExchange(Transport& transport, int tag) : transport_(transport), tag_(tag) {}
  DescriptorExchange(const DescriptorExchange&) = delete;
  ~DescriptorExchange() {
    for (Transport::Request& send : sends_) transport_.cancel(send);
  }

  /// A synchronous send completes only when the other rank has received it. So an agreement that is
  /// begun afterwards ends only after every descriptor has arrived.
  void send(const RequestDescriptor& descriptor) {
    sends_.push_back(transport_.send_synchronously(std::as_bytes(std::span(descriptor.words)),
                                                   descriptor.rank, tag_));
  }
  void receive(std::vector<RequestDescriptor>& received) {
    while (std::optional<RequestDescriptor> descriptor = transport_.take_descriptor(tag_))
      received.push_back(std::move(*descriptor));
  }
  bool all_have_left() {
    completed_.clear();
    return !transport_.test_some(sends_, completed_);
  }

 private:
  Transport& transport_;
  int tag_;
  std::vector<Transport::Request> sends_;
  std::vector<int> completed_;
};

}  // namespace

Task<std::vector<RequestDescriptor>> exchange_descriptors(
    const Channel& channel, std::vector<RequestDescriptor> descriptors, int tag) {
  std::vector<RequestDescriptor> received;
  for (const RequestDescriptor& descriptor : descriptors)
    if (descriptor.rank == channel.comm.rank()) received.push_back(descriptor);
  if (!channel.comm.alone()) {
    DescriptorExchange exchange(channel.comm.transport(), tag);
    for (const RequestDescriptor& descriptor : descriptors)
      if (descriptor.rank != channel.comm.rank()) exchange.send(descriptor);
    co_await until(Expect::messages, [&] {
      exchange.receive(received);
      return exchange.all_have_left();
    });
    Running<bool> all(any_rank(channel, false));
    co_await until(Expect::messages, [&] {
      exchange.receive(received);
      return all.advance();
    });
    all.result();
    exchange.receive(received);
  }
  std::sort(received.begin(), received.end(),
            [](const RequestDescriptor& a, const RequestDescriptor& b) { return a.rank < b.rank; });
  co_return received;
}

}  // namespace penstock
