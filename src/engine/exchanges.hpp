// The exchanges: how the bytes of a collective call get from the ranks to the aggregators' staging
// buffers and back. Each returns this rank's storage error as an aggregator, if any.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/domain_table.hpp"
#include "engine/window_queue.hpp"

namespace penstock {

using Neighbours = std::vector<std::int64_t>;  // aggregators, ascending

/// What is known before the first byte moves. For a split read, the state between begin and end.
struct Prepared {
  Neighbours touched;                     // by this rank's request
  Exchange exchange;                      // the exchange in use
  std::optional<DomainTable> table;       // of this rank's domain
  std::vector<DomainTable> proxy_tables;  // of domains on other nodes whose proxy this rank is
  std::unique_ptr<WindowQueue> queue;
};

/// Collective: ranks send the aggregators descriptors of what they want of their domains.
Task<Prepared> prepare(Context& context, const Access& access, const Plan& plan, const Hints& hints,
                       const Demand& all);
/// The same if the ranks of a node share memory: short descriptors are read from there, and each
/// node sends one descriptor, joined from those of its ranks, to each aggregator on another node.
Task<> prepare_in_node(Context& context, const Access& access, const Plan& plan, const Demand& all,
                       Prepared& prepared);

/// Copies this rank's own bytes between user memory and an open window.
void copy_own_bytes(Context& context, const Access& access, Window& window);

/// Through shared memory, see node.hpp.
Task<std::optional<Error>> exchange_in_node(Context& context, const Access& access,
                                            const Plan& plan, Prepared& prepared);
/// Non-blocking messages, see sides.hpp.
Task<std::optional<Error>> exchange_sparsely(Context& context, const Access& access,
                                             const Plan& plan, Prepared& prepared);
/// step1 to step5 and alltoallw, see rounds.hpp.
Task<std::optional<Error>> exchange_in_rounds(Context& context, const Access& access,
                                              const Plan& plan, Prepared& prepared);

}  // namespace penstock
