// The extension module penstock._core: thin; the public interface is the package's Python code.
#pragma once

#include <nanobind/nanobind.h>

#include <penstock/penstock.hpp>

namespace nb = nanobind;

namespace penstock::python {

void bind_errors(nb::module_& m);
/// Converts a Python exception to an error of the library, keeping class and message. Needs the
/// GIL.
Error error_of(nb::handle exception);
void bind_sections(nb::module_& m);
void bind_hints(nb::module_& m);
void bind_statistics(nb::module_& m);
void bind_file(nb::module_& m);
/// As a dictionary.
nb::dict facts_of(const FileSystemFacts& facts);
void bind_tiles(nb::module_& m);
void bind_explain(nb::module_& m);
void bind_bench(nb::module_& m);

}  // namespace penstock::python
