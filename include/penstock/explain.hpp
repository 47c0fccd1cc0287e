// The plan of a request, without running it: pure, no MPI, no file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <penstock/costs.hpp>
#include <penstock/hints.hpp>
#include <penstock/section.hpp>

namespace penstock {

/// Description of a request of all ranks.
struct RequestDescription {
  std::vector<std::int64_t> shape;             ///< of the array, in elements
  std::int64_t element_size = 1;               ///< bytes
  Order order = Order::c;                      ///< of the elements in the file
  std::int64_t offset = 0;                     ///< byte of the file where the array starts
  bool write = true;                           ///< otherwise a read
  int cores = 1;                               ///< processors per node
  std::vector<std::vector<Section>> sections;  ///< per rank
  int nodes = 1;                               ///< over which the ranks are spread evenly
  Costs costs;                                 ///< those of this machine: find_costs()
  std::int64_t stripe_size = 0;                ///< of the file system; 0: unknown
};

/// The plan in figures. Only collective methods have domains.
struct PENSTOCK_EXPORT PlanReport {
  /// The part of the file that only one aggregator accesses.
  struct Domain {
    int aggregator_rank;
    std::int64_t begin, end;    ///< byte range of the domain (block-cyclic: first and last)
    std::int64_t blocks;        ///< pieces it consists of (1 unless block-cyclic)
    std::int64_t wanted_bytes;  ///< bytes of it that some rank wants, overlaps counted once
    std::int64_t rounds;
    std::int64_t hole_bytes;     ///< bytes between the first and last wanted byte of its rounds
    std::int64_t sieved_rounds;  ///< rounds that read before they write
  };
  /// Bytes moved between a rank and an aggregator.
  struct Flow {
    int rank, aggregator_rank;
    std::int64_t bytes;
  };
  /// The predicted cost of a method, by the cost model of docs/DESIGN.md.
  struct Alternative {
    Method method;
    Exchange exchange;  ///< of a collective method; automatic: none
    double seconds;
    bool eligible;     ///< whether method=auto may choose it
    std::string note;  ///< why it is not
  };
  Method method;
  Exchange exchange;  ///< of a collective method
  DomainRule rule;
  std::string reason;                                                   ///< why this method
  std::vector<std::pair<std::int64_t, std::int64_t>> bounding_section;  ///< per dimension
  std::int64_t span_begin, span_end;  ///< bytes divided into domains
  std::int64_t buffer_size;
  std::vector<Domain> domains;
  std::vector<Flow> flows;  ///< bytes that each rank sends or receives
  std::vector<Alternative> alternatives;
  Costs costs;                  ///< used for the predictions
  std::string to_text() const;  ///< everything, as printed by `penstock explain`
};

/// The plan of a collective call with these hints. Throws Error: section for a section that does
/// not fit the array, argument for hints that no plan can follow.
PENSTOCK_EXPORT PlanReport explain(const RequestDescription& request, const Hints& hints);

}  // namespace penstock
