#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module.hpp"

namespace penstock::python {
namespace {

nb::dict to_dict(const PlanReport& report) {
  nb::dict d;
  d["method"] = std::string(to_string(report.method));
  d["reason"] = report.reason;
  d["domain_rule"] = std::string(to_string(report.rule));
  d["bounding_section"] = nb::cast(report.bounding_section);
  d["span"] = nb::make_tuple(report.span_begin, report.span_end);
  d["buffer_size"] = report.buffer_size;
  nb::list domains;
  for (const auto& domain : report.domains) {
    nb::dict e;
    e["aggregator"] = domain.aggregator_rank;
    e["begin"] = domain.begin;
    e["end"] = domain.end;
    e["blocks"] = domain.blocks;
    e["wanted_bytes"] = domain.wanted_bytes;
    e["rounds"] = domain.rounds;
    e["hole_bytes"] = domain.hole_bytes;
    e["sieved_rounds"] = domain.sieved_rounds;
    domains.append(e);
  }
  d["domains"] = domains;
  nb::list flows;
  for (const auto& flow : report.flows)
    flows.append(nb::make_tuple(flow.rank, flow.aggregator_rank, flow.bytes));
  d["flows"] = flows;
  d["exchange"] = std::string(to_string(report.exchange));
  nb::list alternatives;
  for (const auto& a : report.alternatives) {
    nb::dict e;
    e["method"] = std::string(to_string(a.method));
    e["exchange"] = std::string(to_string(a.exchange));
    e["seconds"] = a.seconds;
    e["eligible"] = a.eligible;
    e["note"] = a.note;
    alternatives.append(e);
  }
  d["alternatives"] = alternatives;
  const Costs& c = report.costs;
  nb::dict costs;
  costs["call"] = c.call;
  costs["contended_call"] = c.contended_call;
  costs["storage_byte"] = c.storage_byte;
  costs["copy_byte"] = c.copy_byte;
  costs["run"] = c.run;
  costs["message"] = c.message;
  costs["message_byte"] = c.message_byte;
  costs["hand_over"] = c.hand_over;
  costs["synchronisation"] = c.synchronisation;
  costs["page_cache"] = c.page_cache;
  costs["measured"] = c.measured;
  costs["device_tells"] = c.device_tells;
  d["costs"] = costs;
  d["text"] = report.to_text();
  return d;
}

}  // namespace

void bind_explain(nb::module_& m) {
  m.def("_explain", [](const std::vector<std::int64_t>& shape, std::int64_t element_size,
                       const std::string& order, std::int64_t offset, bool write, int cores,
                       int nodes, const std::vector<std::vector<Section>>& sections,
                       const std::map<std::string, std::string>& hints, bool measure) {
    RequestDescription request{shape, element_size, parse_order(order), offset,
                               write, cores,        sections,           nodes};
    Hints parsed;
    parsed.set(hints);
    if (measure) request.costs = find_costs(parsed);
    return to_dict(explain(request, parsed));
  });
}

}  // namespace penstock::python
