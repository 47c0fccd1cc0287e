// Datatypes of a program: their layouts, kept with them, and buffers that they describe.
#pragma once

#include <memory>

#include "mpiio/decode.hpp"
#include "pattern/memory_map.hpp"

namespace penstock {

/// Decoded at the first call and kept until the type is freed; a duplicate has its own. Any thread
/// may call this. Throws an Error of class MPI_ERR_TYPE for MPI_DATATYPE_NULL, and for a handle
/// that was freed, as far as the MPI library can tell.
std::shared_ptr<const TypeLayout> layout_of(MPI_Datatype type);

/// `count` elements of the type at `buffer`; MPI_BOTTOM: places are addresses. The order of the
/// stream is that of the type map. Throws Error(argument) for a negative count.
MemoryMap memory_map(void* buffer, std::int64_t count, const TypeLayout& type);

}  // namespace penstock
