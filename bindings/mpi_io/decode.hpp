// Decodes an MPI datatype to its layout, from its constructors (type_contents.hpp). The result is
// as large as the definition: a repeated part is described once. So is the time, except with Open
// MPI, where equal parts have to be decoded to be recognised.
#pragma once

#include "mpi/type_contents.hpp"
#include "mpi_io/type_layout.hpp"

namespace penstock {

/// The format of elements: that of memory (and of the representations native and internal), or that
/// of a file in external32.
enum class Representation { native, external32 };

/// Bounds of native layouts are the MPI library's own. In external32 nothing is aligned;
/// constructors that take elements use the sizes of external32, while byte arguments are used
/// unchanged, so they have to be bytes of the file (MPI 4.1, section 14.5.1). Throws
/// Error(argument) for unknown constructors.
TypeLayout decode(MPI_Datatype type, Representation representation);

}  // namespace penstock
