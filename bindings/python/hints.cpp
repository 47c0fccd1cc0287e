// Hints in Python: their descriptions, and checks of given ones.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "module.hpp"

namespace penstock::python {
namespace {

std::string represent_hint(const HintDescription& hint) {
  return "<penstock.Hint " + hint.name + ": " + hint.values + "; default " +
         (hint.default_value.empty() ? "\"\"" : hint.default_value) + ">";
}

/// As users write it; True and False become 1 and 0.
std::string plain_text(nb::handle value, const std::string& what) {
  const nb::object text = PyBool_Check(value.ptr()) ? nb::str(value.is(Py_True) ? "1" : "0")
                                                    : nb::object(nb::str(value));
  Py_ssize_t size = 0;
  if (const char* const utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &size))
    return {utf8, static_cast<std::size_t>(size)};
  PyErr_Clear();
  throw Error(ErrorClass::argument,
              what + " " + nb::cast<std::string>(nb::steal(PyObject_ASCII(text.ptr()))) +
                  " is not valid text");
}

/// Those that are None are left out.
Hints hints_of(const nb::dict& given) {
  Hints hints;
  for (const auto [key, value] : given) {
    if (value.is_none()) continue;
    const std::string name = plain_text(key, "hint");
    hints.set({{name, plain_text(value, "hint " + name)}});
  }
  return hints;
}

}  // namespace

void bind_hints(nb::module_& m) {
  using Hint = HintDescription;
  nb::class_<Hint>(m, "Hint", "A setting of files and calls, described. See `penstock.hints`.")
      .def_ro("name", &Hint::name)
      .def_ro("values", &Hint::values, "What may be given, in words.")
      .def_prop_ro(
          "choices", [](const Hint& hint) { return nb::tuple(nb::cast(hint.choices)); },
          nb::sig("def choices(self) -> tuple[str, ...]"),
          "Of a hint that is one of several names: these; else empty.")
      .def_ro("minimum", &Hint::minimum, "Of a number; else None.")
      .def_ro("maximum", &Hint::maximum,
              "Of a number; None where there is no bound, or where only a file knows it.")
      .def_ro("unit", &Hint::unit, "\"bytes\", \"microseconds\", \"ranks\"...; or empty.")
      .def_ro("default", &Hint::default_value, "As text; sizes with K, M or G.")
      .def_prop_ro(
          "scope", [](const Hint& hint) { return hint.scope == HintScope::file ? "file" : "call"; },
          "\"file\": for `penstock.open` alone; \"call\": for single calls, too.")
      .def_ro("common", &Hint::common, "Whether all ranks must pass the same value.")
      .def_ro("experimental", &Hint::experimental,
              "Whether it is for experiments: the papers' alternatives, modelled devices, faults.")
      .def_ro("planned", &Hint::planned,
              "Whether a plan depends on it: `penstock.explain` shows what it changes.")
      .def_ro("help", &Hint::help, "What it does, in a few sentences.")
      .def("__repr__", &represent_hint);
  m.def("_hints", &describe_hints);
  nb::class_<Hints>(m, "_Settings", "Hints of a file or a call, read and checked.")
      .def("__init__",
           [](Hints* self, const nb::dict& given) { new (self) Hints(hints_of(given)); });
  m.def(
      "parse_bytes", [](const std::string& text) { return parse_bytes(text); }, nb::arg("text"),
      "A size as people write it in bytes.\n\n"
      "Args:\n"
      "    text: '64', '64K', '4M' or '1G' (powers of 1024).\n\n"
      "Raises:\n"
      "    ArgumentError: For a text that is no size.");
}

}  // namespace penstock::python
