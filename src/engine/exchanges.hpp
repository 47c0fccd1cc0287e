// The exchanges: how the bytes of a collective call get from the ranks to the aggregators' staging
// buffers and back. Each returns what storage did to this rank as an aggregator.
#pragma once

#include <optional>
#include <vector>

#include "engine/domain_table.hpp"

namespace penstock {

using Neighbours = std::vector<std::int64_t>;  // aggregators, ascending

/// Copies this rank's own bytes between user memory and an open window.
void copy_own_bytes(Context& context, const Access& access, Window& window);

/// Through shared memory, see node.hpp.
std::optional<Error> exchange_in_node(Context& context, const Access& access, const Plan& plan,
                                      const Hints& hints, const Demand& all,
                                      const Neighbours& touched);
/// Non-blocking messages, see sides.hpp. `table`: who wants what of this rank's domain.
std::optional<Error> exchange_sparsely(Context& context, const Access& access, const Plan& plan,
                                       const Hints& hints, const Neighbours& touched,
                                       DomainTable table);
/// step1 to step5 and alltoallw, see rounds.hpp.
std::optional<Error> exchange_in_rounds(Context& context, const Access& access, const Plan& plan,
                                        const Hints& hints, const Neighbours& touched,
                                        DomainTable table);

}  // namespace penstock
