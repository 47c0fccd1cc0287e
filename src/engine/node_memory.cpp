#include <algorithm>
#include <cstdio>

#include "engine/node.hpp"
#include "engine/operation.hpp"
#include "plan/memory.hpp"

namespace penstock {
namespace {

/// Reports a fallback once, on one rank.
void notice(const Context& context, const std::string& text) {
  if (context.comm.rank() == 0) std::fprintf(stderr, "penstock: %s\n", text.c_str());
}

/// Keep memory that is larger than needed: otherwise calls of different sizes would alternately
/// recreate it.
StagingKey key_for(const OpenFile& file, const Plan& plan) {
  const std::int64_t lead = lead_room(plan.domains.buffer());
  StagingKey key{plan.domains.aggregators(), staged_bytes(plan) + lead, plan.depth, plan.buffered};
  key.slot_bytes =
      std::clamp(file.staging_key.slot_bytes, key.slot_bytes, plan.domains.buffer() + lead);
  return key;
}

}  // namespace

std::int64_t new_room(const Context& context, const Plan& plan) {
  if (plan.exchange != Exchange::node) return 0;
  const StagingKey key = key_for(context.file, plan);
  if (key == context.file.staging_key) return 0;
  // An upper bound for any node, so that all ranks get the same number.
  const bool has_slots = !plan.buffered || plan.machine.nodes > 1;
  return has_slots ? key.aggregators * key.depth * key.slot_bytes : 0;
}

Task<bool> make_room(Context& context, const Plan& plan, bool arenas) {
  OpenFile& file = context.file;
  Team& team = *context.comm.team();
  const int slot = context.channel.slot();
  const StagingKey key = key_for(file, plan);
  const bool lacks_arenas = arenas && !file.arenas.there();
  if (key == file.staging_key && !lacks_arenas) co_return true;
  std::string why;
  bool works = key == file.staging_key;
  if (!works) {
    const NodeStaging::Shape shape = NodeRoles(team, plan).shape(key.slot_bytes);
    works = co_await file.staging.fit(team, slot, shape, why);
  }
  // Both are collective: every rank does the second, whatever the result of the first.
  if (lacks_arenas) {
    const bool reached = co_await file.arenas.fit(team, slot, context.background.memory(), why);
    works = works && reached;
  }
  ++context.record.counts.allocations;
  context.record.counts.synchronisations += 2;
  const std::optional<Error> error =
      works ? std::nullopt : std::optional(Error(ErrorClass::internal, why));
  std::optional<Error> failed;
  try {
    co_await agree_on_exit(context.channel, error);
  } catch (const Error& agreed) {
    failed = agreed;
  }
  if (!failed) {
    file.staging_key = key;
    co_return true;
  }
  file.machine.shared_memory = false;
  file.staging.release();
  file.staging_key = {};
  notice(context, std::string("no shared memory for the staging buffers (") + failed->what() +
                      "); exchanging by messages instead. A smaller buffer_size helps where "
                      "memory is short");
  co_return false;
}

}  // namespace penstock
