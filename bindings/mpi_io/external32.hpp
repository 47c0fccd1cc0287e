// Buffers in external32: the data stream of a buffer, converted element by element.
//
// MPI_Pack_external would do it, but not everywhere: MPICH 5 aborts the program on MPI_WCHAR; Open
// MPI 4 and 5 write long double wrongly and wide characters in 4 bytes; and both cut a long to 4
// bytes without a word where the standard has MPI_ERR_CONVERSION.
#pragma once

#include <span>

#include "mpi_io/elements.hpp"
#include "mpi_io/number_codes.hpp"
#include "pattern/memory_map.hpp"

namespace penstock {

/// `stream`: the elements of all of `memory`. Writes their totals().external bytes to `packed`.
void pack_external32(const MemoryMap& memory, const Elements& stream, std::byte* packed);

/// Stores the elements that are whole within `packed`. What they are in memory is returned: its
/// native bytes are those of a status.
Elements::Totals unpack_external32(std::span<const std::byte> packed, const MemoryMap& memory,
                                   const Elements& stream);

}  // namespace penstock
