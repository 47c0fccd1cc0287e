#include "mpi/over_nodes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

namespace penstock {
namespace {

/// The ranks that take part: one per node, in node order.
struct Peers {
  explicit Peers(const Communicator& comm)
      : team(comm.team()),
        count(team != nullptr ? team->nodes() : comm.size()),
        me(team != nullptr ? team->node() : comm.rank()) {}
  int rank_of(int peer) const { return team != nullptr ? team->rank_at(peer, 0) : peer; }
  int of_rank(int rank) const { return team != nullptr ? team->node_of(rank) : rank; }

  const Team* team;
  int count, me;
};

/// Messages in flight and their bytes. If it is destroyed before they are complete, the bytes are
/// leaked, since MPI still uses them.
class Transit {
 public:
  explicit Transit(const Channel& channel)
      : channel_(channel), held_(std::make_unique<Messages>()) {}
  Transit(const Transit&) = delete;
  ~Transit() {
    if (held_->out.active() || held_->in.active()) static_cast<void>(held_.release());
  }

  void send(int rank, std::span<const std::byte> bytes) {
    held_->sent.assign(bytes.begin(), bytes.end());
    held_->out = transport().send(held_->sent, rank, channel_.agreement_tag());
  }
  void receive(int rank, std::size_t bytes) {
    held_->received.resize(bytes);
    held_->in = transport().receive(held_->received, rank, channel_.agreement_tag());
  }
  bool is_over() { return transport().test(held_->in) && transport().test(held_->out); }
  std::span<std::byte> received() { return held_->received; }
  /// Sends without waiting for completion.
  static void forget(const Channel& channel, int rank, const std::vector<std::byte>& bytes) {
    Transit(channel).send(rank, bytes);
  }

 private:
  struct Messages {
    Transport::Request out, in;
    std::vector<std::byte> sent, received;
  };
  Transport& transport() const { return channel_.comm.transport(); }

  const Channel& channel_;
  std::unique_ptr<Messages> held_;
};

constexpr Expect expect = Expect::meeting_by_messages;

/// While one exists, messages about long waits name these peers.
class Awaited {
 public:
  Awaited(const Channel& channel, std::vector<int> peers) : team_(channel.comm.team()) {
    if (team_ != nullptr) team_->await_nodes(std::move(peers));
  }
  Awaited(const Awaited&) = delete;
  ~Awaited() {
    if (team_ != nullptr) team_->await_nodes({});
  }

 private:
  Team* team_;
};

/// Recursive doubling (Thakur, Rabenseifner, Gropp, *Optimization of Collective Communication
/// Operations in MPICH*, 2005) among the largest power of two of peers; before it, each of the
/// first ones joins the next, which gets the result afterwards. Neighbours are joined first, so
/// that the order is kept.
struct Doubling {
  explicit Doubling(const Peers& peers)
      : count(static_cast<int>(std::bit_floor(static_cast<unsigned>(peers.count)))),
        folded(peers.count - count),
        outside(peers.me < 2 * folded && peers.me % 2 == 1),
        partner(peers.me < 2 * folded ? peers.me ^ 1 : -1),
        index(peers.me < 2 * folded ? peers.me / 2 : peers.me - folded) {}
  int peer_at(int other) const { return other < folded ? 2 * other : other + folded; }
  /// The peers whose bytes `other` has joined before it sends them in `step`.
  std::vector<int> behind(int other, int step) const {
    std::vector<int> peers;
    for (int i = other & ~(step - 1); i < (other & ~(step - 1)) + step; ++i) {
      peers.push_back(peer_at(i));
      if (i < folded) peers.push_back(2 * i + 1);
    }
    return peers;
  }

  int count, folded;
  bool outside;  // this peer's bytes are joined by `partner`
  int partner;   // -1: none
  int index;
};

}  // namespace

Task<> join_over_nodes(const Channel& channel, std::span<std::byte> bytes, JoinBytes join) {
  const Peers peers(channel.comm);
  const Doubling doubling(peers);
  Transit transit(channel);
  const auto is_over = [&] { return transit.is_over(); };
  if (doubling.partner >= 0) {
    const int partner = peers.rank_of(doubling.partner);
    if (doubling.outside) transit.send(partner, bytes);
    transit.receive(partner, bytes.size());
    {
      const Awaited awaited(
          channel, doubling.outside ? std::vector<int>() : std::vector<int>{doubling.partner});
      co_await until(expect, is_over);
    }
    if (doubling.outside) {
      std::copy_n(transit.received().begin(), bytes.size(), bytes.begin());
      co_return;
    }
    join(bytes, transit.received());
  }
  for (int step = 1; step < doubling.count; step *= 2) {
    const int other = doubling.index ^ step;
    const int rank = peers.rank_of(doubling.peer_at(other));
    transit.send(rank, bytes);
    transit.receive(rank, bytes.size());
    {
      const Awaited awaited(channel, doubling.behind(other, step));
      co_await until(expect, is_over);
    }
    if (other > doubling.index) {
      join(bytes, transit.received());
    } else {
      join(transit.received(), bytes);
      std::copy_n(transit.received().begin(), bytes.size(), bytes.begin());
    }
  }
  if (doubling.partner < 0) co_return;
  transit.send(peers.rank_of(doubling.partner), bytes);
  co_await until(expect, is_over);
}

/// A binomial tree.
Task<> broadcast_over_nodes(const Channel& channel, std::span<std::byte> bytes, int root) {
  const Peers peers(channel.comm);
  const int first = peers.of_rank(root);
  const int index = (peers.me - first + peers.count) % peers.count;
  const auto rank_at = [&](int i) { return peers.rank_of((i + first) % peers.count); };
  Transit transit(channel);
  const auto is_over = [&] { return transit.is_over(); };
  int step = 1;
  while (step < peers.count && (index & step) == 0) step *= 2;
  if (index != 0) {
    transit.receive(rank_at(index - step), bytes.size());
    co_await until(expect, is_over);
    std::copy_n(transit.received().begin(), bytes.size(), bytes.begin());
  }
  while (step > 1) {
    step /= 2;
    if (index + step >= peers.count) continue;
    transit.send(rank_at(index + step), bytes);
    co_await until(expect, is_over);
  }
}

Task<std::vector<std::string>> gather_on_first(const Channel& channel, std::string text) {
  Transit transit(channel);
  const auto is_over = [&] { return transit.is_over(); };
  auto size = static_cast<std::int64_t>(text.size());
  std::vector<std::string> texts;
  if (channel.comm.rank() > 0) {
    transit.send(0, std::as_bytes(std::span(&size, 1)));
    co_await until(expect, is_over);
    if (size > 0) transit.send(0, std::as_bytes(std::span(text)));
    co_await until(expect, is_over);
    co_return texts;
  }
  texts.push_back(std::move(text));
  for (int rank = 1; rank < channel.comm.size(); ++rank) {
    transit.receive(rank, sizeof size);
    co_await until(expect, is_over);
    std::memcpy(&size, transit.received().data(), sizeof size);
    if (size > 0) transit.receive(rank, static_cast<std::size_t>(size));
    co_await until(expect, is_over);
    const auto* const begin = reinterpret_cast<const char*>(transit.received().data());
    texts.emplace_back(begin, static_cast<std::size_t>(size));
  }
  co_return texts;
}

void notify_nodes(const Channel& channel, const std::vector<std::byte>& bytes) {
  const Peers peers(channel.comm);
  const Doubling doubling(peers);
  if (doubling.partner >= 0) Transit::forget(channel, peers.rank_of(doubling.partner), bytes);
  if (doubling.outside) return;
  for (int step = 1; step < doubling.count; step *= 2)
    Transit::forget(channel, peers.rank_of(doubling.peer_at(doubling.index ^ step)), bytes);
}

}  // namespace penstock
