// One collective read or write, from agreement to agreement:
//   1. the request is located in the file; what is wrong with it is kept, not thrown
//   2. agree on entry: demands joined, common arguments compared, errors shared
//   3. plan: the same value on every rank
//   4. move the bytes: independent (direct, sieved) or collective (gather, two-phase, extended)
//   5. agree on exit
// Every rank does 2 and 5 exactly once, whatever happens to it in between.
#pragma once

#include <optional>

#include "engine/context.hpp"

namespace penstock {

/// Returns the plan that was followed. `early`: what was wrong with the arguments of this rank.
/// Throws the same error class on every rank.
Plan perform(Context& context, Access& access, const Hints& hints,
             const std::optional<Error>& early);

/// Each rank moves its own bytes, without the others.
void move_direct(Context& context, const Access& access, const Hints& hints);
void move_sieved(Context& context, const Access& access, const Hints& hints);
/// The ranks exchange bytes and only aggregators touch the file. Throws only what happened on
/// this rank, after it has done its part for the others.
void move_collectively(Context& context, const Access& access, const Plan& plan, const Hints& hints,
                       const Demand& all);

}  // namespace penstock
