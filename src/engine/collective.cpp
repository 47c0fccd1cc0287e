// The collective methods: gather, two-phase and extended two-phase differ only in their plan.
//   1. each rank tells the aggregators whose domains it touches what it wants (the FDAT forms
//      there; nobody ever holds the requests of all ranks)
//   2. windows are exchanged and moved, see sides.hpp
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "access/wire.hpp"
#include "engine/operation.hpp"
#include "engine/sides.hpp"
#include "mpi/agree.hpp"

namespace penstock {
namespace {

/// Message slots of each side. With the staging buffer (1), the sieve buffer and the coverage
/// (1/8 each) both sides' slots (10/16 or 4/8) stay below twice the buffer. Small buffers get few
/// slots, so that messages do not become tiny.
struct SlotSize {
  int count;
  std::int64_t bytes;

  static SlotSize of(std::int64_t buffer) {
    constexpr std::int64_t small = 64 * 1024, shortest = 64;
    constexpr std::int64_t longest = std::int64_t{1} << 30;  // counts of MPI are ints
    if (buffer < small) return {2, std::max(shortest, buffer / 8)};
    return {5, std::min(longest, buffer / 16)};
  }
};

std::vector<Letter> tell_aggregators(const Context& context, const Access& access, const Plan& plan,
                                     const Neighbours& touched) {
  std::vector<Letter> letters;
  if (touched.empty()) return deliver(context.comm, letters, context.letter_tag());
  const std::vector<std::int64_t> words = to_words(access.sections);
  for (const std::int64_t aggregator : touched)
    letters.push_back({plan.rank_of(aggregator), words});
  return deliver(context.comm, letters, context.letter_tag());
}

void exchange(Requester& requester, Aggregator& aggregator, Slots& mine, Slots& others) {
  std::vector<std::pair<Slots*, int>> completed;
  for (;;) {
    requester.post();
    aggregator.post();
    if (requester.done() && aggregator.done()) return;
    completed.clear();
    wait_some({&mine, &others}, completed);
    if (completed.empty())
      throw Error(ErrorClass::internal, "the exchange has nothing to wait for");
    for (const auto& [pool, slot] : completed)
      pool == &mine ? requester.completed(slot) : aggregator.completed(slot);
  }
}

/// Storage errors never get here. What does (no memory for a buffer, an error of MPI itself)
/// leaves other ranks waiting for bytes that will not come: an end is better than a hang.
[[noreturn]] void end_program(const Communicator& comm, const Error& error) {
  if (comm.alone()) throw Error(error);
  std::fprintf(stderr, "penstock: rank %d cannot go on with an exchange, so the program ends: %s\n",
               comm.rank(), error.what());
  MPI_Abort(comm.handle(), 1);
  std::abort();
}

}  // namespace

void move_collectively(Context& context, const Access& access, const Plan& plan,
                       const Hints& hints) {
  const Neighbours touched = touched_aggregators(plan.domains, access.file);
  const std::vector<Letter> letters = tell_aggregators(context, access, plan, touched);
  const SlotSize slots = SlotSize::of(hints.buffer_size);
  Slots mine(context.comm, context.data_tag(), slots.count, slots.bytes, &context.gauge);
  Slots others(context.comm, context.data_tag(), slots.count, slots.bytes, &context.gauge);
  Requester requester(context, access, plan, touched, mine);
  Aggregator aggregator(context, access, plan, hints, letters, others);
  const std::optional<Error> broken =
      attempt([&] { exchange(requester, aggregator, mine, others); });
  if (broken) end_program(context.comm, *broken);
  context.counts.messages += mine.messages() + others.messages();
  context.counts.bytes_sent += mine.bytes_sent() + others.bytes_sent();
  if (aggregator.error()) throw Error(*aggregator.error());
}

}  // namespace penstock
