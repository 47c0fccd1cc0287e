// Buffers in external32: the data stream of a buffer, converted element by element.
//
// Not by MPI_Pack_external, because of defects: MPICH 5 aborts the program on MPI_WCHAR; Open MPI 4
// and 5 write long double wrongly and wide characters in 4 bytes; and both silently cut a long to 4
// bytes where the standard requires MPI_ERR_CONVERSION.
#pragma once

#include <span>

#include "mpi_io/elements.hpp"
#include "mpi_io/number_codes.hpp"
#include "pattern/memory_map.hpp"

namespace penstock {

/// `stream`: the elements of `memory`. Writes their totals().external bytes to `packed`.
void pack_external32(const MemoryMap& memory, const Elements& stream, std::byte* packed);

/// Stores the complete elements in `packed`. Returns their totals; the native bytes are those for a
/// status.
Elements::Totals unpack_external32(std::span<const std::byte> packed, const MemoryMap& memory,
                                   const Elements& stream);

}  // namespace penstock
