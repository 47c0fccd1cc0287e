#pragma once

namespace penstock {

/// Makes MPI_Finalize first call `finish`, which writes pending data (launchers may end processes
/// soon after it), and release the MPI objects of groups. A second call does nothing.
void finish_before_mpi_does(void (*finish)() noexcept);

}  // namespace penstock
