#include "engine/rounds.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// All rounds of one call, on one rank.
class Rounds {
 public:
  Rounds(Context& context, const Access& access, const Plan& plan, Prepared& prepared)
      : context_(context),
        access_(access),
        plan_(plan),
        table_(*prepared.table),
        queue_(*prepared.queue),
        packer_(context, access, plan.exchange == Exchange::step1),
        messenger_(context, plan.exchange, packer_) {
    // Own bytes are copied without a message, unless other ranks' bytes must come before or after
    // them.
    const bool to_myself = access.writes() && !table_.any_order();
    for (const std::int64_t a : prepared.touched)
      if (plan.rank_of(a) != context.comm.rank() || to_myself)
        neighbours_.push_back({a, next_round(plan.domains, a, access.file, 0), {}});
  }

  Task<std::optional<Error>> run() {
    std::int64_t rounds = 0;
    for (std::int64_t a = 0; a < plan_.domains.aggregators(); ++a)
      rounds = std::max(rounds, plan_.domains.rounds(a));
    if (!access_.writes()) ahead_ = open_window();
    for (std::int64_t round = 0; round < rounds; ++round) co_await go(round);
    queue_.finish_all();
    co_return queue_.error();
  }

 private:
  struct Neighbour {
    std::int64_t aggregator, round;
    WindowStream stream;
  };

  /// Null if no round is left. A read is in progress when this returns.
  Window* open_window() { return queue_.finished(table_) ? nullptr : &queue_.open(table_); }

  /// This rank's window in `round`, or null.
  Window* window_of(std::int64_t round) {
    if (access_.writes())
      return !table_.finished() && table_.round() == round ? open_window() : nullptr;
    if (ahead_ == nullptr || ahead_->round != round) return nullptr;
    Window* const window = ahead_;
    queue_.finish(*window);
    ahead_ = nullptr;
    if (queue_.deep()) ahead_ = open_window();
    return window;
  }

  Task<> go(std::int64_t round) {
    Window* const window = window_of(round);
    Round parcels;
    parcels.any_order = !access_.writes() || table_.any_order();
    auto& to_users = access_.writes() ? parcels.incoming : parcels.outgoing;
    auto& to_windows = access_.writes() ? parcels.outgoing : parcels.incoming;
    add_neighbours(round, to_windows);
    const bool mine = window != nullptr && add_sources(*window, to_users, parcels.any_order);
    in_ring_order(parcels);
    co_await messenger_.begin(parcels);
    if (mine) copy_own_bytes(context_, access_, *window);
    co_await messenger_.finish(parcels);
    if (window != nullptr && access_.writes()) queue_.start_flush(*window);
    if (!access_.writes() && !queue_.deep() && ahead_ == nullptr) ahead_ = open_window();
  }

  void add_neighbours(std::int64_t round, std::vector<Parcel>& parcels) {
    for (Neighbour& n : neighbours_) {
      if (n.round != round || round >= plan_.domains.rounds(n.aggregator)) continue;
      n.stream = WindowStream(access_.file, plan_.domains.window(n.aggregator, round));
      parcels.push_back({plan_.rank_of(n.aggregator), n.stream.size(), &n.stream, nullptr});
      n.round = next_round(plan_.domains, n.aggregator, access_.file, round + 1);
    }
  }

  /// Returns whether this rank's own bytes may be copied independently of the parcels.
  bool add_sources(Window& window, std::vector<Parcel>& parcels, bool any_order) {
    bool mine = false;
    for (std::size_t i = 0; i < window.streams.size(); ++i) {
      const WindowStream& stream = window.streams[i];
      const int rank = table_.sources()[i].rank;
      if (stream.size() == 0) continue;
      if (rank == context_.comm.rank() && any_order) mine = true;
      else parcels.push_back({rank, stream.size(), &stream, &window});
    }
    return mine;
  }

  void in_ring_order(Round& round) {
    const int ranks = context_.comm.size(), me = context_.comm.rank();
    const auto distance = [&](int from, int to) { return (to - from + ranks) % ranks; };
    std::sort(round.outgoing.begin(), round.outgoing.end(), [&](const Parcel& a, const Parcel& b) {
      return distance(me, a.peer) < distance(me, b.peer);
    });
    std::sort(round.incoming.begin(), round.incoming.end(), [&](const Parcel& a, const Parcel& b) {
      return distance(a.peer, me) < distance(b.peer, me);
    });
  }

  Context& context_;
  const Access& access_;
  const Plan& plan_;
  DomainTable& table_;
  WindowQueue& queue_;
  Packer packer_;
  Messenger messenger_;
  std::vector<Neighbour> neighbours_;
  Window* ahead_ = nullptr;  // a read started early
};

}  // namespace

Task<std::optional<Error>> exchange_in_rounds(Context& context, const Access& access,
                                              const Plan& plan, Prepared& prepared) {
  Rounds rounds(context, access, plan, prepared);
  co_return co_await rounds.run();
}

}  // namespace penstock
