// Writes into the active buffer.
#pragma once

#include "engine/context.hpp"
#include "plan/plan.hpp"

namespace penstock {

/// Bytes of a unit at most.
constexpr std::int64_t longest_unit = std::int64_t{4} << 20;
/// However small the budget.
constexpr std::int64_t shortest_unit = 4096;

/// Memory for a unit, within the call's budget; waits for as much room as it needs.
ActiveBuffer::Memory take_room(Context& context, std::int64_t bytes);

/// In the I/O thread, before a unit: lets the node's ranks finish copying, unless somebody waits
/// for the unit, and not for long.
void let_copy(Context& context);

/// Collective, before a buffered write moves its first byte. What is buffered of earlier writes is
/// written before anything of this one that could get into the file earlier by way of another
/// rank.
void keep_order(Context& context, const Access& access, const Plan& plan, const Demand& all);

/// Moves a request by an independent method in the I/O thread, from or into user memory.
void move_aside(Context& outer, const Access& access, Method method, const Hints& hints);

/// The direct method by way of the active buffer: each rank's runs, packed into units.
void buffer_directly(Context& context, const Access& access, const Hints& hints);

}  // namespace penstock
