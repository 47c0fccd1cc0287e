#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "module.hpp"

namespace penstock::python {
namespace {

using namespace nb::literals;
using RangeTuple = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

Range range_of(const RangeTuple& t) {
  return {std::get<0>(t), std::get<1>(t), std::get<2>(t), std::get<3>(t)};
}

/// A tuple is a range; a list has indices, even if there are four.
Section make_section(const std::vector<nb::object>& dimensions) {
  std::vector<Indices> indices;
  for (const nb::object& dimension : dimensions) {
    if (nb::isinstance<nb::tuple>(dimension))
      indices.emplace_back(range_of(nb::cast<RangeTuple>(dimension)));
    else indices.emplace_back(nb::cast<std::vector<std::int64_t>>(dimension));
  }
  return Section(std::move(indices));
}

using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;

Section make_extents(const Runs& runs) {
  std::vector<ElementExtent> extents;
  for (const auto& [begin, end] : runs) extents.push_back({begin, end});
  return Section::extents(std::move(extents));
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

nb::object indices_of(const Indices& indices) {
  if (const auto* list = std::get_if<IndexList>(&indices)) return nb::cast(*list);
  const Range& range = std::get<Range>(indices);
  nb::list all;
  for (std::int64_t first = range.lower; first < range.upper; first += range.stride)
    for (std::int64_t i = first; i < std::min(first + range.block, range.upper); ++i) all.append(i);
  return all;
}

/// Slices if every dimension is one, else the result of numpy.ix_ for the indices.
nb::object index_of(const Section& section) {
  if (section.is_extents())
    throw Error(ErrorClass::section, "section: runs along the file have no index");
  bool sliced = true;
  nb::list slices, lists;
  for (const Indices& indices : section.dimensions()) {
    const auto* r = std::get_if<Range>(&indices);
    sliced = sliced && r != nullptr && r->block == 1;
    if (sliced)
      slices.append(nb::slice(nb::int_(r->lower), nb::int_(r->upper), nb::int_(r->stride)));
  }
  if (sliced) return nb::tuple(slices);
  for (const Indices& indices : section.dimensions()) lists.append(indices_of(indices));
  return nb::module_::import_("numpy").attr("ix_")(*lists);
}

using Pickled = std::tuple<bool, std::vector<nb::object>, Runs>;

/// For pickling: the arguments that make the section. Ranks send sections to each other.
nb::tuple pickled(const Section& section) {
  nb::list runs;
  if (section.is_extents())
    for (const ElementExtent& run : section.runs()) runs.append(nb::make_tuple(run.begin, run.end));
  return nb::make_tuple(section.is_extents(), dimensions_of(section), runs);
}

void unpickle(Section& section, const Pickled& state) {
  const auto& [is_extents, dimensions, runs] = state;
  new (&section) Section(is_extents ? make_extents(runs) : make_section(dimensions));
}

}  // namespace

void bind_sections(nb::module_& m) {
  nb::class_<Section>(
      m, "Section",
      "What one rank wants of an array: made by `section`, `inclusive`,\n`extents` or `paper`. A "
      "value; sections of the same elements in the same form are equal.")
      .def_static("_of", &make_section, "dimensions"_a)
      .def_static("_extents", &make_extents, "runs"_a)
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
      .def_prop_ro("index", &index_of,
                   "What selects the same elements of a NumPy array of the whole: slices, or open\n"
                   "index lists as of ``numpy.ix_``. Raises SectionError for runs along the file.")
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
      .def("__getstate__", &pickled)
      .def("__setstate__", &unpickle)
      .def("__hash__", [](const Section& s) { return std::hash<std::string>{}(s.to_string()); })
      .def("__repr__", [](const Section& s) { return "penstock.Section" + s.to_string(); });

  m.def("_share", [](const std::vector<std::int64_t>& shape, const nb::tuple& ranks_and_rank,
                     const std::vector<std::string>& kinds, const std::vector<std::int64_t>& grid,
                     const nb::tuple& halo) {
    std::vector<DimensionKind> parsed;
    for (const auto& kind : kinds) parsed.push_back(DimensionKind::parse(kind));
    const Halo cells{nb::cast<std::vector<std::int64_t>>(halo[0]),
                     nb::cast<std::vector<bool>>(halo[1]), nb::cast<bool>(halo[2])};
    const auto rank = nb::cast<std::int64_t>(ranks_and_rank[1]);
    const Distribution distribution(shape, nb::cast<std::int64_t>(ranks_and_rank[0]), parsed, grid,
                                    cells);
    const Share share = distribution.share(rank);
    nb::list pieces;
    for (const HaloPiece& piece : share.ghosted)
      pieces.append(nb::make_tuple(piece.section, piece.start));
    return nb::make_tuple(share.section, share.with_halo, share.local_shape, share.halo_before,
                          distribution.grid(), distribution.coordinates(rank), pieces);
  });
}

}  // namespace penstock::python
