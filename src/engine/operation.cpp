#include "engine/operation.hpp"

#include <algorithm>
#include <cstdio>

#include "access/wire.hpp"
#include "engine/node.hpp"
#include "mpi/agree.hpp"

namespace penstock {
namespace {

/// What all ranks must pass alike. Rendered anew only when the hints have changed.
const std::vector<Common>& common_values(Context& context, const Access& access,
                                         const Hints& hints) {
  if (context.common.empty() || !(context.common_hints == hints)) {
    context.common.assign(1, {});
    for (const auto& [name, value] : hints.text())
      if (name != "device" && name != "locks") context.common.push_back({name, value});
    context.common_hints = hints;
  }
  context.common.front() = {"the operation", access.writes() ? "write" : "read"};
  return context.common;
}

/// Says once what does not work as wished, on one rank.
void notice(const Context& context, const std::string& text) {
  if (context.comm.rank() == 0) std::fprintf(stderr, "penstock: %s\n", text.c_str());
}

/// Leaves this rank's description where those of its node find it.
std::int64_t leave_letter(Context& context, const Access& access) {
  Team* const team = context.comm.team();
  if (team == nullptr) return 0;
  const std::vector<std::int64_t> words = to_words(access.sections);
  Team::Desk& desk = team->own_desk();
  const auto count = static_cast<std::int64_t>(words.size());
  desk.words = count <= Team::letter_words ? count : 0;
  std::copy_n(words.begin(), desk.words, desk.letter);
  return count;
}

/// The memory of the node exchange, as this plan wants it. Every rank comes here, or none. False
/// on all ranks where it cannot be had.
bool make_room(Context& context, const Plan& plan) {
  Team& team = *context.comm.team();
  const StagingKey key{plan.domains.aggregators(), plan.domains.buffer(), plan.depth};
  if (key == context.staging_key) return true;
  std::string why;
  const bool works = context.staging.fit(team, NodeRoles(team, plan).shape(), why);
  ++context.counts.allocations;
  context.counts.synchronisations += 2;
  const std::optional<Error> error =
      works ? std::nullopt : std::optional(Error(ErrorClass::internal, why));
  try {
    agree_on_exit(context.comm, error);
  } catch (const Error& failed) {
    context.machine.shared_memory = false;
    context.staging.release();
    notice(context, std::string("no shared memory for the staging buffers (") + failed.what() +
                        "); exchanging by messages instead. A larger /dev/shm, or a smaller "
                        "buffer_size, helps");
    return false;
  }
  context.staging_key = key;
  return true;
}

void move(Context& context, const Access& access, const Plan& plan, const Hints& hints,
          const Demand& all) {
  switch (plan.method) {
    case Method::direct: return move_direct(context, access, hints);
    case Method::sieved: return move_sieved(context, access, hints);
    default: return move_collectively(context, access, plan, hints, all);
  }
}

}  // namespace

Plan perform(Context& context, Access& access, const Hints& asked,
             const std::optional<Error>& early) {
  const Hints hints = settle_hints(asked, context.machine, context.layout.element_size);
  ++context.calls;
  context.counts = {};
  // What a call with other settings needed is not kept: staging memory is bounded by this call's.
  if (!(hints == context.common_hints)) context.pool.clear();
  context.gauge.restart();
  std::optional<Error> error = early;
  std::optional<Stopwatch> watch(context.counts.time_plan);
  Demand demand;
  if (!error)
    error = attempt([&] {
      check_hints(hints, context.layout.element_size, context.machine.ranks);
      access.locate(context.layout);
      demand = Demand::of(access.file);
      demand.words = leave_letter(context, access);
    });
  if (error) demand = {};
  const Demand all =
      agree_on_entry(context.comm, common_values(context, access, hints), demand, error);
  Plan plan = make_plan(context.layout, all, hints, context.machine, access.writes());
  if (plan.collective() && plan.exchange == Exchange::node && !make_room(context, plan))
    plan = make_plan(context.layout, all, hints, context.machine, access.writes());
  watch.reset();
  context.counts.bytes_wanted = demand.bytes;
  error = attempt([&] { move(context, access, plan, hints, all); });
  context.counts.staging_peak = context.gauge.peak();
  if (plan.collective() && plan.exchange == Exchange::node)
    context.counts.staging_peak += context.staging.own_bytes(context.comm.team()->rank());
  context.counts.allocations += context.gauge.allocations();
  context.counts.synchronisations += 2;
  const Stopwatch leaving(context.counts.time_wait);
  agree_on_exit(context.comm, error);
  return plan;
}

}  // namespace penstock
