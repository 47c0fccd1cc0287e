#include "engine/node.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// All parts go on as far as they can.
class NodeExchange {
 public:
  NodeExchange(Courier& courier, NodeAggregator& aggregator, NodeRequester& requester,
               Slots& couriered, Slots& arriving)
      : courier_(courier),
        aggregator_(aggregator),
        requester_(requester),
        couriered_(couriered),
        arriving_(arriving) {}

  bool done() const { return requester_.done() && aggregator_.done() && courier_.done(); }
  /// False: nothing can be done before somebody rings, or a message arrives.
  bool go_on() {
    bool moved = aggregator_.progress(/*idle=*/false);
    moved = courier_.progress() || moved;
    moved = requester_.progress() || moved;
    return moved || aggregator_.progress(/*idle=*/true);
  }
  /// False: no message has arrived or left since.
  bool take_messages() {
    completed_.clear();
    const bool under_way = test_some({&couriered_, &arriving_}, completed_);
    for (const auto& [pool, slot] : completed_)
      pool == &couriered_ ? courier_.completed(slot) : aggregator_.completed(slot);
    expect_ = under_way ? Expect::messages : Expect::ring;  // messages ring no bell
    return !completed_.empty();
  }
  const Expect* expect() const noexcept { return &expect_; }

 private:
  Courier& courier_;
  NodeAggregator& aggregator_;
  NodeRequester& requester_;
  Slots& couriered_;
  Slots& arriving_;
  std::vector<std::pair<Slots*, int>> completed_;
  Expect expect_ = Expect::ring;
};

}  // namespace

Task<std::optional<Error>> exchange_in_node(Context& context, const Access& access,
                                            const Plan& plan, Prepared& prepared) {
  const NodeRoles roles(*context.comm.team(), plan);
  const int arriving_slots = std::min(2, plan.depth);
  const std::int64_t chunk = plan.domains.buffer();
  Slots couriered(context.transport(), context.channel.data_tag(), plan.depth, chunk, context.pool,
                  &context.gauge);
  Slots arriving(context.transport(), context.channel.data_tag(), arriving_slots, chunk,
                 context.pool, &context.gauge);
  const int first_slot = prepared.table->aggregator() >= 0 ? plan.depth : 0;
  NodeRequester requester(context, access, plan, roles);
  NodeAggregator aggregator(context, access, plan, roles, prepared, arriving);
  Courier courier(context, access, plan, roles, std::move(prepared.passed_on), first_slot,
                  couriered);
  NodeExchange exchange(courier, aggregator, requester, couriered, arriving);
  const Bell& bell = context.comm.bell();
  for (;;) {
    const std::uint32_t heard = bell.heard();
    bool moved = exchange.go_on();
    if (exchange.done()) break;
    moved = exchange.take_messages() || moved;
    if (moved) continue;
    const Timed watch(context.record, Phase::wait);
    co_await until(exchange.expect(),
                   [&] { return bell.heard() != heard || exchange.take_messages(); });
  }
  context.record.counts.messages += couriered.messages() + arriving.messages();
  context.record.counts.bytes_sent += couriered.bytes_sent() + arriving.bytes_sent();
  co_return aggregator.finish();
}

}  // namespace penstock
