// What the drop-in MPI-IO defines: functions of MPI, under both of their names.
#pragma once

#include <mpi.h>

/// The function PMPI_name, defined in this file, is MPI_name as well.
#define PENSTOCK_MPI_NAME(name) \
  extern "C" __attribute__((alias("P" #name), visibility("default"))) decltype(P##name) name
