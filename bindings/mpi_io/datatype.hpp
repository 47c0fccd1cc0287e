// Datatypes of a program: their layouts, kept with them, and buffers that they describe.
#pragma once

#include <memory>

#include "mpi_io/decode.hpp"
#include "pattern/memory_map.hpp"

namespace penstock {

/// Decoded at the first call and kept until the type is freed; a duplicate has its own. Any thread
/// may call this. Throws an Error of class MPI_ERR_TYPE for MPI_DATATYPE_NULL, and for a handle
/// that was freed, as far as the MPI library can tell.
std::shared_ptr<const TypeLayout> layout_of(MPI_Datatype type);
/// Of files and of accesses (MPI 4.1, section 14.6). Throws an Error of class MPI_ERR_TYPE for a
/// datatype that was not committed, as far as the MPI library tells, and what layout_of() throws.
void require_committed(MPI_Datatype type);

/// What is `place` bytes behind `buffer`; MPI_BOTTOM: places are addresses. Throws an Error of
/// class MPI_ERR_BUFFER where no program has memory: for a null pointer.
std::byte* memory_at(void* buffer, std::int64_t place);

/// `count` elements of the type at `buffer`. The order of the stream is that of the type map.
/// Throws Error(argument) for a negative count, and what memory_at() throws.
MemoryMap memory_map(void* buffer, std::int64_t count, const TypeLayout& type);

}  // namespace penstock
