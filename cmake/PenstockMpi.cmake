# Detects the MPI library of a compiler by the macros of its mpi.h. Also installed: find_package(penstock)
# compares it with the one that Penstock was built with.

# penstock_find_mpi_library(NAME VERSION COMPILER [INCLUDE_FOLDER ...]) sets the variables NAME ("MPICH", "Open MPI",
# "MPI ABI", "unknown") and VERSION.
function(penstock_find_mpi_library name version compiler)
  set(folders ${ARGN})
  list(TRANSFORM folders PREPEND "-I")
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "#include <mpi.h>"
                  COMMAND ${compiler} ${folders} -E -dM -x c - OUTPUT_VARIABLE macros ERROR_QUIET)
  set(found unknown)
  set(found_version 0)
  if(macros MATCHES "#define OMPI_MAJOR_VERSION ([0-9]+)")
    set(found "Open MPI")
    set(found_version ${CMAKE_MATCH_1})
    string(REGEX MATCH "#define OMPI_MINOR_VERSION ([0-9]+)" _ "${macros}")
    string(APPEND found_version ".${CMAKE_MATCH_1}")
  elseif(macros MATCHES "#define MPICH_VERSION \"([^\"]+)\"")
    set(found "MPICH")
    set(found_version ${CMAKE_MATCH_1})
  elseif(macros MATCHES "#define MPI_ABI_VERSION ([0-9]+)")
    set(found "MPI ABI")
    set(found_version ${CMAKE_MATCH_1})
  endif()
  set(${name} "${found}" PARENT_SCOPE)
  set(${version} "${found_version}" PARENT_SCOPE)
endfunction()
