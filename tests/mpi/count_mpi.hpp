// Counts MPI calls of this program and the library linked into it: communicators made and freed,
// and collective calls. For one source file of a program.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace count_mpi {

/// Several threads may be in MPI.
inline std::atomic<std::int64_t> duplicates = 0, made = 0, freed = 0, collectives = 0;

}  // namespace count_mpi

extern "C" {

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* result, MPI_Request* request) {
  ++count_mpi::duplicates;
  ++count_mpi::made;
  ++count_mpi::collectives;
  return PMPI_Comm_idup(comm, result, request);
}
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* result) {
  ++count_mpi::collectives;
  const int code = PMPI_Comm_split(comm, color, key, result);
  count_mpi::made += *result != MPI_COMM_NULL;
  return code;
}
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* result) {
  ++count_mpi::collectives;
  const int code = PMPI_Comm_split_type(comm, type, key, info, result);
  count_mpi::made += *result != MPI_COMM_NULL;
  return code;
}
int MPI_Comm_free(MPI_Comm* comm) {
  ++count_mpi::freed;
  return PMPI_Comm_free(comm);
}
int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  ++count_mpi::collectives;
  return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}
int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  ++count_mpi::collectives;
  return PMPI_Allreduce(from, to, count, type, op, comm);
}
int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request) {
  ++count_mpi::collectives;
  return PMPI_Ibcast(buffer, count, type, root, comm, request);
}
int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  ++count_mpi::collectives;
  return PMPI_Bcast(buffer, count, type, root, comm);
}
int MPI_Gather(const void* from, int count, MPI_Datatype type, void* to, int to_count,
               MPI_Datatype to_type, int root, MPI_Comm comm) {
  ++count_mpi::collectives;
  return PMPI_Gather(from, count, type, to, to_count, to_type, root, comm);
}
int MPI_Allgather(const void* from, int count, MPI_Datatype type, void* to, int to_count,
                  MPI_Datatype to_type, MPI_Comm comm) {
  ++count_mpi::collectives;
  return PMPI_Allgather(from, count, type, to, to_count, to_type, comm);
}
int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  ++count_mpi::collectives;
  return PMPI_Ibarrier(comm, request);
}

}  // extern "C"
