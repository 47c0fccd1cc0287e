// The collective methods: gather, two-phase and extended two-phase differ only in their plan.
//   1. each rank sends a descriptor of what it wants to the aggregators whose domains it touches;
//      these build the FDAT. No rank has the requests of all ranks.
//   2. windows are exchanged and moved to or from storage, see exchanges.hpp
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "engine/operation.hpp"
#include "engine/rounds.hpp"
#include "engine/sides.hpp"
#include "plan/memory.hpp"

namespace penstock {
namespace {

Task<> exchange_messages(Context& context, Requester& requester, Aggregator& aggregator,
                         Slots& mine, Slots& others) {
  std::vector<std::pair<Slots*, int>> completed;
  std::int64_t reported = 0;  // bytes sent so far, as reported to the listener
  for (;;) {
    requester.post();
    aggregator.post();
    if (requester.done() && aggregator.done()) co_return;
    completed.clear();
    bool under_way = true;
    {
      Timed watch(context.record, Phase::exchange);
      co_await until(Expect::messages, [&] {
        under_way = test_some({&mine, &others}, completed);
        return !under_way || !completed.empty();
      });
      const std::int64_t sent = mine.bytes_sent() + others.bytes_sent();
      watch.set_bytes(sent - std::exchange(reported, sent));
    }
    if (!under_way) throw Error(ErrorClass::internal, "the exchange has nothing to wait for");
    for (const auto& [pool, slot] : completed)
      pool == &mine ? requester.completed(slot) : aggregator.completed(slot);
  }
}

Task<std::optional<Error>> exchange(Context& context, const Access& access, const Plan& plan,
                                    Prepared& prepared) {
  switch (prepared.exchange) {
    case Exchange::node: return exchange_in_node(context, access, plan, prepared);
    case Exchange::sparse: return exchange_sparsely(context, access, plan, prepared);
    default: return exchange_in_rounds(context, access, plan, prepared);
  }
}

/// Storage errors never get here. An error that does (no memory for a buffer, an MPI error) leaves
/// other ranks waiting for bytes that will not come, so the program ends.
[[noreturn]] void end_program(const Communicator& comm, const Error& error) {
  if (comm.alone()) throw Error(error);
  std::fprintf(stderr, "penstock: rank %d cannot continue an exchange, so the program ends: %s\n",
               comm.rank(), error.what());
  MPI_Abort(comm.handle(), 1);
  std::abort();
}

}  // namespace

Task<std::optional<Error>> exchange_sparsely(Context& context, const Access& access,
                                             const Plan& plan, Prepared& prepared) {
  const SlotSize size = SlotSize::of(plan);
  Slots mine(context.transport(), context.channel.data_tag(), size.count, size.bytes, context.pool,
             &context.gauge);
  Slots others(context.transport(), context.channel.data_tag(), size.count, size.bytes,
               context.pool, &context.gauge);
  Requester requester(context, access, plan, prepared.touched, mine);
  Aggregator aggregator(context, access, prepared, others);
  co_await exchange_messages(context, requester, aggregator, mine, others);
  context.record.counts.messages += mine.messages() + others.messages();
  context.record.counts.bytes_sent += mine.bytes_sent() + others.bytes_sent();
  co_return aggregator.error();
}

Task<Prepared> begin_collectively(Context& context, const Access& access, const Plan& plan,
                                  const Hints& hints, const Demand& all) {
  std::optional<Error> broken;
  try {
    co_return co_await prepare(context, access, plan, hints, all);
  } catch (...) {
    broken = current_error();
  }
  end_program(context.comm, *broken);
}

Task<> end_collectively(Context& context, const Access& access, const Plan& plan,
                        Prepared& prepared) {
  std::optional<Error> error, broken;
  try {
    error = co_await exchange(context, access, plan, prepared);
  } catch (...) {
    broken = current_error();
  }
  if (broken) end_program(context.comm, *broken);
  if (error) throw Error(*error);
}

}  // namespace penstock
