#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "module.hpp"

namespace penstock::python {

using namespace nb::literals;

namespace {

nb::dict to_python(const PlanReport::Domain& domain) {
  nb::dict d;
  d["aggregator"] = domain.aggregator_rank;
  d["begin"] = domain.begin;
  d["end"] = domain.end;
  d["blocks"] = domain.blocks;
  d["wanted_bytes"] = domain.wanted_bytes;
  d["rounds"] = domain.rounds;
  d["hole_bytes"] = domain.hole_bytes;
  d["sieved_rounds"] = domain.sieved_rounds;
  return d;
}

nb::tuple to_python(const PlanReport::Flow& flow) {
  return nb::make_tuple(flow.rank, flow.aggregator_rank, flow.bytes);
}

nb::dict to_python(const PlanReport::Alternative& alternative) {
  nb::dict d;
  d["method"] = to_string(alternative.method);
  d["exchange"] = to_string(alternative.exchange);
  d["seconds"] = alternative.seconds;
  d["eligible"] = alternative.eligible;
  d["note"] = alternative.note;
  return d;
}

nb::dict to_python(const Costs& costs) {
  nb::dict d;
  d["call"] = costs.call;
  d["contended_call"] = costs.contended_call;
  d["storage_byte"] = costs.storage_byte;
  d["copy_byte"] = costs.copy_byte;
  d["run"] = costs.run;
  d["mapped_byte"] = costs.mapped_byte;
  d["fault"] = costs.fault;
  d["message"] = costs.message;
  d["message_between"] = costs.message_between;
  d["message_byte"] = costs.message_byte;
  d["hand_over"] = costs.hand_over;
  d["synchronisation"] = costs.synchronisation;
  d["page_cache"] = costs.page_cache;
  d["maps_files"] = costs.maps_files;
  d["measured"] = costs.measured;
  d["device_tells"] = costs.device_tells;
  return d;
}

template <class Entry>
nb::list to_python(const std::vector<Entry>& entries) {
  nb::list list;
  for (const Entry& entry : entries) list.append(to_python(entry));
  return list;
}

nb::dict to_python(const PlanReport& report) {
  nb::dict d;
  d["method"] = to_string(report.method);
  d["reason"] = report.reason;
  d["domain_rule"] = to_string(report.rule);
  d["bounding_section"] = nb::cast(report.bounding_section);
  d["span"] = nb::make_tuple(report.span_begin, report.span_end);
  d["buffer_size"] = report.buffer_size;
  d["domains"] = to_python(report.domains);
  d["flows"] = to_python(report.flows);
  d["exchange"] = to_string(report.exchange);
  d["alternatives"] = to_python(report.alternatives);
  d["costs"] = to_python(report.costs);
  d["text"] = report.to_text();
  return d;
}

}  // namespace

void bind_explain(nb::module_& m) {
  m.def("_explain",
        [](const std::vector<std::int64_t>& shape, std::int64_t element_size,
           const std::string& order, std::int64_t offset, bool write, int cores, int nodes,
           const std::vector<std::vector<Section>>& sections, const Hints& hints, bool measure,
           const std::optional<FileSystemReport>& place) {
          RequestDescription request{shape, element_size, parse_order(order), offset,
                                     write, cores,        sections,           nodes};
          FileSystemFacts facts = place ? place->facts : FileSystemFacts{};
          facts.several_caches = !facts.caches_agree && nodes > 1;
          request.stripe_size = facts.stripe_size;
          if (measure) request.costs = place ? find_costs(hints, facts) : find_costs(hints);
          return to_python(explain(request, hints));
        });
  nb::class_<FileSystemReport>(m, "_FileSystemReport")
      .def_prop_ro("facts", [](const FileSystemReport& report) { return facts_of(report.facts); })
      .def_ro("locks", &FileSystemReport::locks)
      .def_ro("untried", &FileSystemReport::untried)
      .def_prop_ro("text", &FileSystemReport::to_text);
  m.def("_explain_file_system", &explain_file_system, "path"_a);
}

}  // namespace penstock::python
