// Reductions whose results do not depend on the distribution of the cells.
#pragma once

#include "grid.hpp"

namespace jeans {

/// Collective: the maximum over all ranks; NaN if one rank's value is.
double greatest(MPI_Comm comm, double mine);

/// Collective: the sum over all cells, in fixed point: each value is cut at 2^-60 of the greatest
/// one. No bit of the result depends on the order of the cells.
double exact_sum(const Grid& grid, const Field& field);

}  // namespace jeans
