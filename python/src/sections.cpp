#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "module.hpp"

namespace penstock::python {
namespace {

using namespace nb::literals;
using RangeTuple = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
using IndicesArgument = std::variant<RangeTuple, std::vector<std::int64_t>>;

Range range_of(const RangeTuple& t) {
  return {std::get<0>(t), std::get<1>(t), std::get<2>(t), std::get<3>(t)};
}

Section make_section(const std::vector<IndicesArgument>& dimensions) {
  std::vector<Indices> indices;
  for (const auto& dimension : dimensions) {
    if (const auto* range = std::get_if<RangeTuple>(&dimension))
      indices.emplace_back(range_of(*range));
    else indices.emplace_back(std::get<std::vector<std::int64_t>>(dimension));
  }
  return Section(std::move(indices));
}

nb::list dimensions_of(const Section& section) {
  nb::list result;
  if (section.is_extents()) return result;
  for (const Indices& indices : section.dimensions()) {
    if (const auto* r = std::get_if<Range>(&indices))
      result.append(nb::make_tuple(r->lower, r->upper, r->stride, r->block));
    else result.append(nb::cast(std::get<IndexList>(indices)));
  }
  return result;
}

}  // namespace

void bind_sections(nb::module_& m) {
  nb::class_<Section>(
      m, "Section",
      "What one rank wants of an array: made by `section`, `inclusive`,\n`extents` or `paper`. A "
      "value; sections of the same elements in the same form are equal.")
      .def_static("_of", &make_section, "dimensions"_a)
      .def_static(
          "_extents",
          [](const std::vector<std::pair<std::int64_t, std::int64_t>>& runs) {
            std::vector<ElementExtent> extents;
            for (const auto& [begin, end] : runs) extents.push_back({begin, end});
            return Section::extents(std::move(extents));
          },
          "runs"_a)
      .def_static(
          "paper",
          [](const std::string& text, std::int64_t p, std::int64_t nprocs) {
            return Section::paper(text, p, nprocs);
          },
          "text"_a, "p"_a = 0, "nprocs"_a = 1,
          "A section as the papers print it: '(1:100:1, 1+10p:100+10p:1)' (Thakur & Choudhary,\n"
          "Tables 1-8).\n\n"
          "Args:\n"
          "    text: Per dimension lower:upper:stride, 1-based, upper bound included.\n"
          "    p: What p stands for in it: the rank.\n"
          "    nprocs: What nprocs stands for in it: the number of ranks.\n\n"
          "Raises:\n"
          "    SectionError: With the place that could not be read.")
      .def_prop_ro(
          "shape", [](const Section& s) { return nb::tuple(nb::cast(s.shape())); },
          "Number of elements per dimension, in memory.")
      .def_prop_ro("size", &Section::element_count, "Number of elements.")
      .def_prop_ro("dimensions", &dimensions_of,
                   "Per dimension (lower, upper, stride, block), half-open, or a list of indices.")
      .def_prop_ro("is_extents", &Section::is_extents,
                   "Whether it is runs along the file, made by `extents`.")
      .def(
          "check", [](const Section& s, const std::vector<std::int64_t>& shape) { s.check(shape); },
          "shape"_a,
          "Raises unless the section fits an array of this shape.\n\n"
          "Args:\n"
          "    shape: Extents of the array, in elements.\n\n"
          "Raises:\n"
          "    SectionError: With the dimension and its limit.")
      .def(
          "__eq__", [](const Section& a, const Section& b) { return a == b; }, nb::is_operator())
      .def("__hash__", [](const Section& s) { return std::hash<std::string>{}(s.to_string()); })
      .def("__repr__", [](const Section& s) { return "penstock.Section" + s.to_string(); });

  m.def("_share", [](const std::vector<std::int64_t>& shape, std::int64_t ranks,
                     const std::vector<std::string>& kinds, const std::vector<std::int64_t>& grid,
                     const std::vector<std::int64_t>& halo, std::int64_t rank) {
    std::vector<DimensionKind> parsed;
    for (const auto& kind : kinds) parsed.push_back(DimensionKind::parse(kind));
    const Distribution distribution(shape, ranks, parsed, grid, halo);
    const Share share = distribution.share(rank);
    return nb::make_tuple(share.section, share.with_halo, share.local_shape, share.halo_before,
                          distribution.grid(), distribution.coordinates(rank));
  });
}

}  // namespace penstock::python
