#include "engine/node.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// All parts progress as far as they can. `copies_first`: while this rank accesses storage it
/// copies nothing, and windows of other ranks wait for its bytes.
class NodeExchange {
 public:
  NodeExchange(Proxy& proxy, NodeAggregator& aggregator, NodeRequester& requester,
               Slots& proxy_slots, Slots& aggregator_slots, bool copies_first)
      : proxy_(proxy),
        aggregator_(aggregator),
        requester_(requester),
        proxy_slots_(proxy_slots),
        aggregator_slots_(aggregator_slots),
        copies_first_(copies_first) {}

  bool done() const { return requester_.done() && aggregator_.done() && proxy_.done(); }
  /// Returns false if nothing can progress before a wake-up or a message.
  bool progress() {
    if (copies_first_ && requester_.progress()) return true;
    bool moved = aggregator_.progress(/*idle=*/false);
    moved = proxy_.progress() || moved;
    if (!copies_first_) moved = requester_.progress() || moved;
    return moved || aggregator_.progress(/*idle=*/true);
  }
  /// False: no message has arrived or been sent since.
  bool take_messages() {
    completed_.clear();
    const bool under_way = test_some({&proxy_slots_, &aggregator_slots_}, completed_);
    for (const auto& [pool, slot] : completed_)
      pool == &proxy_slots_ ? proxy_.completed(slot) : aggregator_.completed(slot);
    expect_ = under_way ? Expect::messages : Expect::notification;  // messages do not wake the rank
    return !completed_.empty();
  }
  const Expect* expect() const noexcept { return &expect_; }

 private:
  Proxy& proxy_;
  NodeAggregator& aggregator_;
  NodeRequester& requester_;
  Slots& proxy_slots_;
  Slots& aggregator_slots_;
  bool copies_first_;
  std::vector<std::pair<Slots*, int>> completed_;
  Expect expect_ = Expect::notification;
};

}  // namespace

Task<std::optional<Error>> exchange_in_node(Context& context, const Access& access,
                                            const Plan& plan, Prepared& prepared) {
  const NodeRoles roles(*context.comm.team(), plan);
  const int message_slots = std::min(2, plan.depth);
  const std::int64_t chunk = plan.domains.buffer();
  Slots proxy_slots(context.transport(), context.channel.data_tag(), plan.depth, chunk,
                    context.pool, &context.gauge);
  Slots aggregator_slots(context.transport(), context.channel.data_tag(), message_slots, chunk,
                         context.pool, &context.gauge);
  const int first_slot = prepared.table->aggregator() >= 0 ? plan.depth : 0;
  NodeRequester requester(context, access, plan, roles);
  NodeAggregator aggregator(context, access, plan, roles, prepared, aggregator_slots);
  Proxy proxy(context, access, plan, roles, std::move(prepared.proxy_tables), first_slot,
              proxy_slots);
  // Writes into the page cache are done by this thread.
  NodeExchange exchange(proxy, aggregator, requester, proxy_slots, aggregator_slots,
                        access.writes() && plan.machine.page_cache);
  const Event& event = context.comm.event();
  for (;;) {
    const std::uint32_t seen = event.notifications();
    bool moved = exchange.progress();
    if (exchange.done()) break;
    moved = exchange.take_messages() || moved;
    if (moved) continue;
    const Timed watch(context.record, Phase::wait);
    co_await until(exchange.expect(),
                   [&] { return event.notifications() != seen || exchange.take_messages(); });
  }
  context.record.counts.messages += proxy_slots.messages() + aggregator_slots.messages();
  context.record.counts.bytes_sent += proxy_slots.bytes_sent() + aggregator_slots.bytes_sent();
  co_return aggregator.finish();
}

}  // namespace penstock
