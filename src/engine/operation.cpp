#include "engine/operation.hpp"

#include "mpi/agree.hpp"

namespace penstock {
namespace {

std::vector<Common> common_values(const Access& access, const Hints& hints) {
  std::vector<Common> common{{"the operation", access.writes() ? "write" : "read"}};
  for (const auto& [name, value] : hints.text())
    if (name != "device" && name != "locks") common.push_back({name, value});
  return common;
}

void move(Context& context, const Access& access, const Plan& plan, const Hints& hints) {
  switch (plan.method) {
    case Method::direct: return move_direct(context, access, hints);
    case Method::sieved: return move_sieved(context, access, hints);
    default: return move_collectively(context, access, plan, hints);
  }
}

}  // namespace

Plan perform(Context& context, Access& access, const Hints& hints,
             const std::optional<Error>& early) {
  ++context.calls;
  context.counts = {};
  context.gauge.restart();
  std::optional<Error> error = early;
  if (!error)
    error = attempt([&] {
      check_hints(hints, context.layout.element_size, context.machine.ranks);
      access.locate(context.layout);
    });
  const Demand demand = error ? Demand{} : Demand::of(access.file);
  const Demand all = agree_on_entry(context.comm, common_values(access, hints), demand, error);
  const Plan plan = make_plan(context.layout, all, hints, context.machine);
  context.counts.bytes_wanted = demand.bytes;
  error = attempt([&] { move(context, access, plan, hints); });
  context.counts.staging_peak = context.gauge.peak();
  agree_on_exit(context.comm, error);
  return plan;
}

}  // namespace penstock
