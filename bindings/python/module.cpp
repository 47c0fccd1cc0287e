#include "module.hpp"

NB_MODULE(_core, m) {
  // Python need not destroy what modules and their caches hold when it ends: not a leak.
  nb::set_leak_warnings(false);
  m.doc() = "The engine of penstock. Use the names of the package penstock.";
  m.attr("unlimited") = penstock::unlimited;
  penstock::python::bind_errors(m);
  penstock::python::bind_sections(m);
  penstock::python::bind_hints(m);
  penstock::python::bind_statistics(m);
  penstock::python::bind_file(m);
  penstock::python::bind_tiles(m);
  penstock::python::bind_explain(m);
  penstock::python::bind_bench(m);
  m.attr("version") = PENSTOCK_VERSION;
  // The MPI library of the process, to find a matching mpiexec.
  m.def(
      "mpi_library_version",
      [] {
        char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
        int length = 0;
        MPI_Get_library_version(text, &length);
        return nb::str(text, static_cast<std::size_t>(length));
      },
      "Version text of the MPI library that the engine is linked with. MPI need not be running.");
}
