// Datatypes of a program: their layouts, kept with them, and buffers that they describe.
#pragma once

#include <memory>

#include "mpiio/decode.hpp"
#include "pattern/memory_map.hpp"

namespace penstock {

/// Decoded at the first call and kept as an attribute of the datatype: MPI deletes it with the
/// type, and a duplicate has its own. Any thread may call this. Throws Error(argument) for
/// MPI_DATATYPE_NULL.
std::shared_ptr<const TypeLayout> layout_of(MPI_Datatype type);

/// `count` elements of the type at `buffer`; MPI_BOTTOM: places are addresses. The order of the
/// stream is that of the type map. Throws Error(argument) for a negative count.
MemoryMap memory_map(void* buffer, std::int64_t count, const TypeLayout& type);

}  // namespace penstock
