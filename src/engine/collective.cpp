// The collective methods: gather, two-phase and extended two-phase differ only in their plan.
//   1. each rank tells the aggregators whose domains it touches what it wants (the FDAT forms
//      there; nobody ever holds the requests of all ranks)
//   2. windows are exchanged and moved, see sides.hpp
#include <algorithm>

#include "access/wire.hpp"
#include "engine/operation.hpp"
#include "engine/sides.hpp"
#include "mpi/agree.hpp"

namespace penstock {
namespace {

/// Staging buffer 1, sieve buffer 1/8, coverage 1/8, slots 10/16: below twice the buffer.
constexpr int slots_per_side = 5;
constexpr std::int64_t slot_divisor = 16;
constexpr std::int64_t longest_message = std::int64_t{1} << 30;  // counts of MPI are ints

std::vector<Letter> tell_aggregators(const Context& context, const Access& access, const Plan& plan,
                                     const Neighbours& touched) {
  std::vector<Letter> letters;
  if (touched.empty()) return deliver(context.comm, letters, context.letter_tag());
  const std::vector<std::int64_t> words = to_words(access.sections);
  for (const std::int64_t aggregator : touched) letters.push_back({plan.rank_of(aggregator), words});
  return deliver(context.comm, letters, context.letter_tag());
}

}  // namespace

void move_collectively(Context& context, const Access& access, const Plan& plan,
                       const Hints& hints) {
  const Neighbours touched = touched_aggregators(plan.domains, access.file);
  const std::vector<Letter> letters = tell_aggregators(context, access, plan, touched);
  const std::int64_t slot =
      std::clamp<std::int64_t>(hints.buffer_size / slot_divisor, 1, longest_message);
  Slots mine(context.comm, context.data_tag(), slots_per_side, slot, &context.gauge);
  Slots others(context.comm, context.data_tag(), slots_per_side, slot, &context.gauge);
  Requester requester(context, access, plan, touched, mine);
  Aggregator aggregator(context, access, plan, hints, letters, others);
  std::vector<std::pair<Slots*, int>> completed;
  for (;;) {
    requester.post();
    aggregator.post();
    if (requester.done() && aggregator.done()) break;
    completed.clear();
    wait_some({&mine, &others}, completed);
    if (completed.empty()) throw Error(ErrorClass::internal, "the exchange has nothing to wait for");
    for (const auto& [pool, slot_index] : completed)
      pool == &mine ? requester.completed(slot_index) : aggregator.completed(slot_index);
  }
  context.counts.messages += mine.messages() + others.messages();
  context.counts.bytes_sent += mine.bytes_sent() + others.bytes_sent();
  if (aggregator.error()) throw Error(*aggregator.error());
}

}  // namespace penstock
