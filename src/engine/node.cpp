#include "engine/node.hpp"

#include <algorithm>

namespace penstock {
namespace {

void exchange(Context& context, Courier& courier, NodeAggregator& aggregator,
              NodeRequester& requester, Slots& couriered, Slots& arriving) {
  Team& team = *context.comm.team();
  std::vector<std::pair<Slots*, int>> completed;
  for (Wait wait;;) {
    const std::uint32_t heard = team.heard();
    bool moved = aggregator.progress(/*idle=*/false);
    moved = courier.progress() || moved;
    moved = requester.progress() || moved;
    if (!moved) moved = aggregator.progress(/*idle=*/true);
    if (requester.done() && aggregator.done() && courier.done()) return;
    completed.clear();
    const bool under_way = test_some({&couriered, &arriving}, completed);
    for (const auto& [pool, slot] : completed)
      pool == &couriered ? courier.completed(slot) : aggregator.completed(slot);
    if (moved || !completed.empty()) {
      wait.restart();
      continue;
    }
    const Stopwatch watch(context.counts.time_wait);
    team.sleep(heard, wait, under_way);  // messages ring no bell
  }
}

}  // namespace

std::optional<Error> exchange_in_node(Context& context, const Access& access, const Plan& plan,
                                      Prepared& prepared) {
  const NodeRoles roles(*context.comm.team(), plan);
  const int arriving_slots = std::min(2, plan.depth);
  const std::int64_t chunk = plan.domains.buffer();
  Slots couriered(context.comm, context.data_tag(), plan.depth, chunk, context.pool,
                  &context.gauge);
  Slots arriving(context.comm, context.data_tag(), arriving_slots, chunk, context.pool,
                 &context.gauge);
  const int first_slot = prepared.table->aggregator() >= 0 ? plan.depth : 0;
  NodeRequester requester(context, access, plan, roles);
  NodeAggregator aggregator(context, access, plan, roles, prepared, arriving);
  Courier courier(context, access, plan, roles, std::move(prepared.passed_on), first_slot,
                  couriered);
  exchange(context, courier, aggregator, requester, couriered, arriving);
  context.counts.messages += couriered.messages() + arriving.messages();
  context.counts.bytes_sent += couriered.bytes_sent() + arriving.bytes_sent();
  return aggregator.error();
}

}  // namespace penstock
