#pragma once

namespace penstock {

/// From now on MPI_Finalize first calls `finish`, which writes what was promised (launchers may end
/// processes soon after it), and gives back what groups have of MPI. A second call does nothing.
void finish_before_mpi_does(void (*finish)() noexcept);

}  // namespace penstock
