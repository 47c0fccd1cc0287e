// Plan: how one collective call is carried out. A value, the same on every rank: computed only from
// the reduced Demand of all ranks and the hints. Pure: no MPI, no file.
#pragma once

#include <string>
#include <string_view>

#include <penstock/costs.hpp>
#include <penstock/hints.hpp>

#include "pattern/demand.hpp"
#include "plan/domains.hpp"
#include "plan/sieving.hpp"

namespace penstock {

/// Longest unit of the active buffer (Ma, Winslett, Lee & Yu, section 3.2).
constexpr std::int64_t longest_unit = std::int64_t{4} << 20;
/// However small the budget: file systems use no smaller blocks either.
constexpr std::int64_t shortest_unit = 4096;

/// The properties of the machine that a plan depends on.
struct Machine {
  int ranks = 1;
  int writers = 1;  // ranks that can access storage concurrently: at most one per core
  int nodes = 1;
  bool page_cache = true;        // otherwise every access goes to the device
  std::int64_t stripe_size = 0;  // of the file system; 0: unknown
  bool shared_memory = false;    // the ranks of each node share memory
  bool idle_cores = false;       // every rank's I/O thread can have a core of its own, too
  // Hosts write whole pages back, over what others wrote there; 0: they do not.
  std::int64_t page = 0;
  Costs costs;  // the same on every rank
};

/// For a machine where this many ranks of a node access storage concurrently.
Sieving choose_sieving(const Machine& machine, double side_by_side) noexcept;

/// Why a plan has its method. The text is made on demand, since each call makes a plan.
struct Reason {
  struct Way {
    Method method = Method::automatic;
    Exchange exchange = Exchange::automatic;
    double seconds = 0;
  };
  std::string_view words = {};  // empty: the fastest prediction
  Way taken = {}, next = {};    // automatic: no alternative

  std::string text() const;
};

struct Plan {
  Method method = Method::direct;        // never automatic
  Domains domains;                       // of the collective methods
  Exchange exchange = Exchange::sparse;  // of the collective methods; never automatic
  int depth = 1;                         // windows of an aggregator in flight
  Machine machine;
  int writers = 0;          // ranks of a node that write concurrently; 0: all
  bool take_turns = false;  // an aggregator that can copy meanwhile lets another one write first
  SieveWrites sieve_writes = SieveWrites::automatic;
  Sieving sieving;
  bool buffered = false;  // a write goes through the active buffer
  bool mapped = false;    // a direct read copies out of the mapped file
  Reason reason;

  bool collective() const noexcept {
    return method == Method::gather || method == Method::two_phase || method == Method::extended;
  }
  /// Aggregators are spread over the ranks; aggregator 0 is rank 0.
  int rank_of(std::int64_t aggregator) const noexcept;
  /// Which aggregator a rank is, or -1.
  std::int64_t aggregator_of(int rank) const noexcept;
};

/// Chooses what the hints leave open. `ahead`: for a read into the active buffer. Throws
/// Error(argument) for hints that no plan can follow.
Plan make_plan(const FileUnits& units, const Demand& demand, const Hints& hints,
               const Machine& machine, bool writes = true, bool ahead = false);
/// The hints, with buffer_size and stripe_size chosen if they are automatic.
Hints resolve_hints(const Hints& hints, const Machine& machine, std::int64_t grain);
/// The checks of make_plan alone, for open().
void check_hints(const Hints& hints, std::int64_t grain, int ranks);

/// The aggregators that one rank's request touches, ascending.
std::vector<std::int64_t> touched_aggregators(const Domains& domains, const Footprint& footprint);
/// The first round of `aggregator`, from `round` on, in which the footprint has bytes; rounds() if
/// there is none.
std::int64_t next_round(const Domains& domains, std::int64_t aggregator, const Footprint& footprint,
                        std::int64_t round);

}  // namespace penstock
