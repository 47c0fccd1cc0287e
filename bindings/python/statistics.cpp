// Statistics as a Python class with the attributes listed in the header.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <vector>

#include "module.hpp"

namespace penstock::python {
namespace {

nb::object value_of(const Statistics& statistics, const StatisticsField& field) {
  return std::visit([&](auto member) { return nb::cast(statistics.*member); }, field.member);
}

nb::tuple values_of(const Statistics& statistics) {
  nb::list values;
  for (const StatisticsField& field : statistics_fields) values.append(value_of(statistics, field));
  return nb::tuple(values);
}

void assign(Statistics& statistics, const StatisticsField& field, nb::handle value) {
  const bool assigned = std::visit(
      [&](auto member) { return nb::try_cast(value, statistics.*member); }, field.member);
  if (!assigned) throw nb::type_error((std::string(field.name) + " must be a number").c_str());
}

std::string represent(const Statistics& statistics) {
  std::string text = "Statistics(";
  for (const StatisticsField& field : statistics_fields)
    text.append(&field == statistics_fields.data() ? "" : ", ")
        .append(field.name)
        .append("=")
        .append(nb::repr(value_of(statistics, field)).c_str());
  return text + ")";
}

void construct(Statistics* place, const nb::kwargs& values) {
  new (place) Statistics();
  for (const auto& [key, value] : values) {
    const auto name = nb::cast<std::string>(key);
    const auto field = std::ranges::find(statistics_fields, name, &StatisticsField::name);
    if (field == statistics_fields.end())
      throw nb::type_error(("Statistics has no '" + name + "'").c_str());
    assign(*place, *field, value);
  }
}

void restore(Statistics& statistics, const nb::tuple& values) {
  new (&statistics) Statistics();
  for (std::size_t i = 0; i < statistics_fields.size(); ++i)
    assign(statistics, statistics_fields[i], values[i]);
}

PyObject* dictionary_of(PyObject* self, void*) {
  nb::dict values;
  for (const StatisticsField& field : statistics_fields)
    values[nb::str(field.name.data(), field.name.size())] =
        value_of(*nb::inst_ptr<Statistics>(self), field);
  return values.release().ptr();
}

/// For vars().
PyGetSetDef dictionary[] = {{"__dict__", &dictionary_of, nullptr, nullptr, nullptr}, {}};
PyType_Slot slots[] = {{Py_tp_getset, dictionary}, {0, nullptr}};

/// So that dataclasses.asdict, fields and replace accept it.
nb::object dataclass_fields() {
  nb::list fields;
  for (const StatisticsField& field : statistics_fields) {
    const nb::object value = value_of(Statistics(), field);
    fields.append(
        nb::make_tuple(nb::str(field.name.data(), field.name.size()), value.type(), value));
  }
  const auto dataclasses = nb::module_::import_("dataclasses");
  return dataclasses.attr("make_dataclass")("Statistics", fields).attr("__dataclass_fields__");
}

void bind_fields(nb::class_<Statistics>& cls) {
  for (const StatisticsField& field : statistics_fields) {
    const std::string name(field.name);
    const bool seconds = std::holds_alternative<double Statistics::*>(field.member);
    const std::string signature = "def " + name + "(self) -> " + (seconds ? "float" : "int");
    const std::string doc = std::string(field.help) + " Unit: " + std::string(field.unit) + ".";
    cls.def_prop_ro(
        name.c_str(), [&field](const Statistics& s) { return value_of(s, field); },
        nb::sig(signature.c_str()), doc.c_str());
  }
}

}  // namespace

void bind_statistics(nb::module_& m) {
  using Field = StatisticsField;
  nb::class_<Field>(m, "StatisticsField", "An attribute of `Statistics`, described.")
      .def_ro("name", &Field::name)
      .def_ro("unit", &Field::unit, "\"bytes\", \"seconds\"; of counts, what is counted.")
      .def_ro("peak", &Field::peak, "Whether it is the most at any time, which is not summed.")
      .def_ro("help", &Field::help, "What it is, in a sentence.");
  nb::class_<Statistics> cls(
      m, "Statistics", nb::type_slots(slots),
      "What one rank did. Counts are exact; sizes are bytes, times are seconds.");
  cls.def("__init__", &construct);
  bind_fields(cls);
  cls.def_prop_ro(
         "system_calls", [](const Statistics& s) { return s.reads + s.writes + s.other_calls; },
         "System calls on the file, of whatever kind.")
      .def_static(
          "fields",
          [] { return std::vector<Field>(statistics_fields.begin(), statistics_fields.end()); },
          "The attributes, described.")
      .def("__repr__", &represent)
      .def("__eq__",
           [](const Statistics& a, nb::handle b) {
             return nb::isinstance<Statistics>(b) && a == nb::cast<const Statistics&>(b);
           })
      .def("__hash__", [](const Statistics& s) { return nb::hash(values_of(s)); })
      .def("__getstate__", &values_of)
      .def("__setstate__", &restore);
  cls.attr("__dataclass_fields__") = dataclass_fields();
}

}  // namespace penstock::python
