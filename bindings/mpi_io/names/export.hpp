// Definition of MPI functions by the drop-in MPI-IO, under both of their names.
#pragma once

#include <mpi.h>

/// Makes the function PMPI_name, defined in this file, available as MPI_name.
#define PENSTOCK_MPI_NAME(name) \
  extern "C" __attribute__((alias("P" #name), visibility("default"))) decltype(P##name) name
