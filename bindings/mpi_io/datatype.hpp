// Datatypes of a program: their layouts, cached with them, and the buffers that they describe.
#pragma once

#include <memory>

#include "mpi_io/decode.hpp"
#include "pattern/memory_map.hpp"

namespace penstock {

/// Decoded at the first call and cached until the type is freed; a duplicate has its own.
/// Thread-safe. Throws an Error of class MPI_ERR_TYPE for MPI_DATATYPE_NULL, and for a freed
/// handle, as far as the MPI library can tell.
std::shared_ptr<const TypeLayout> layout_of(MPI_Datatype type);
/// For files and accesses (MPI 4.1, section 14.6). Throws an Error of class MPI_ERR_TYPE for a
/// datatype that is not committed, as far as the MPI library can tell, and what layout_of() throws.
void require_committed(MPI_Datatype type);

/// The address `place` bytes behind `buffer`; with MPI_BOTTOM, places are addresses. Throws an
/// Error of class MPI_ERR_BUFFER for addresses that cannot be program memory, such as null
/// pointers.
std::byte* memory_at(void* buffer, std::int64_t place);

/// `count` elements of the type at `buffer`, in the order of the type map. Throws Error(argument)
/// for a negative count, and what memory_at() throws.
MemoryMap memory_map(void* buffer, std::int64_t count, const TypeLayout& type);

}  // namespace penstock
