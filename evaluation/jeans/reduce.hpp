// Reductions whose result does not depend on how the cells are dealt to the ranks.
#pragma once

#include "grid.hpp"

namespace jeans {

/// Collective: the greatest of all ranks; not a number where one rank's is none.
double greatest(MPI_Comm comm, double mine);

/// Collective: the sum over all cells, in fixed point: each value is cut at 2^-60 of the greatest
/// one. The order of the cells has no influence on any bit.
double exact_sum(const Grid& grid, const Field& field);

}  // namespace jeans
