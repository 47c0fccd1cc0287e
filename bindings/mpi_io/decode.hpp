// From a datatype of MPI to its layout, by the way it was made (type_contents.hpp). A type costs
// its own size: a part that occurs often is described once. Time as well, except with Open MPI,
// which hides that parts are the same until they have been looked at.
#pragma once

#include "mpi/type_contents.hpp"
#include "mpi_io/type_layout.hpp"

namespace penstock {

/// Which bytes elements are: those of memory (and of the representations native and internal), or
/// those of a file in external32.
enum class Representation { native, external32 };

/// Bounds of native layouts are the MPI library's own. In external32 nothing is aligned; types
/// whose constructors take elements have the steps of external32, and what constructors take in
/// bytes is taken as it is, so that it has to be in bytes of the file (MPI 4.1, section 14.5.1).
/// Throws Error(argument) for constructors that are not known.
TypeLayout decode(MPI_Datatype type, Representation representation);

}  // namespace penstock
