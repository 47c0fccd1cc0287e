#pragma once

#include "background/background_io.hpp"

namespace penstock {

/// From now on MPI_Finalize first writes what is queued in the background (launchers may end
/// processes soon after it), and gives back what groups have of MPI. `background` is that of the
/// process; a second call does nothing.
void finish_before_mpi_does(BackgroundIo& background);

}  // namespace penstock
