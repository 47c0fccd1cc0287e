#pragma once

namespace penstock {

/// From now on MPI_Finalize first writes what the active buffer holds (launchers may end processes
/// soon after it), and gives back what groups have of MPI. A second call does nothing.
void finish_before_mpi_does();

}  // namespace penstock
