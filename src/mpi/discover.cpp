#include "mpi/discover.hpp"

#include <algorithm>

#include "mpi/agree.hpp"

namespace penstock {
namespace {

/// Letters that leave, and those that arrive meanwhile. Their words must stay until all have left.
class Delivery {
 public:
  Delivery(Transport& transport, int tag) : transport_(transport), tag_(tag) {}
  Delivery(const Delivery&) = delete;
  ~Delivery() {
    for (Transport::Request& send : sends_) transport_.cancel(send);
  }

  /// Synchronously: once all have left the others have them, so that an agreement begun then ends
  /// only after every letter has arrived.
  void send(const Letter& letter) {
    sends_.push_back(
        transport_.send_synchronously(std::as_bytes(std::span(letter.words)), letter.rank, tag_));
  }
  void receive(std::vector<Letter>& received) {
    while (std::optional<Letter> letter = transport_.take_letter(tag_))
      received.push_back(std::move(*letter));
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

Task<std::vector<Letter>> deliver(const Channel& channel, std::vector<Letter> letters, int tag) {
  std::vector<Letter> received;
  for (const Letter& letter : letters)
    if (letter.rank == channel.comm.rank()) received.push_back(letter);
  if (!channel.comm.alone()) {
    Delivery delivery(channel.comm.transport(), tag);
    for (const Letter& letter : letters)
      if (letter.rank != channel.comm.rank()) delivery.send(letter);
    co_await until(Expect::messages, [&] {
      delivery.receive(received);
      return delivery.all_have_left();
    });
    Running<bool> all(any_rank(channel, false));
    co_await until(Expect::messages, [&] {
      delivery.receive(received);
      return all.advance();
    });
    all.result();
    delivery.receive(received);
  }
  std::sort(received.begin(), received.end(),
            [](const Letter& a, const Letter& b) { return a.rank < b.rank; });
  co_return received;
}

}  // namespace penstock
