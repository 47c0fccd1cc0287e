// Poisson's equation in a periodic box, by multigrid V-cycles on the distributed cells.
#pragma once

#include <optional>
#include <vector>

#include "grid.hpp"
#include "halo.hpp"

namespace jeans {

/// The 7-point Laplacian of the potential is the source less its mean. Red-black Gauss-Seidel
/// smooths; residuals are averaged to cells twice as large, corrections interpolated trilinearly.
/// Coarse levels are gathered on all ranks. The results for a cell do not depend on which rank has
/// it: the potential is the same for any number of ranks, bit for bit.
class Poisson {
 public:
  /// `cells` of the grid: multiples of 4 in each dimension.
  explicit Poisson(const Grid& grid);
  /// Collective. `potential`, with one or more ghosts, is the first guess and then the result,
  /// including ghosts; one that is good enough is not changed. Returns the number of V-cycles.
  /// Throws penstock::Error, the same on every rank, if the residual does not get below `tolerance`
  /// x the greatest source.
  int solve(const Field& source, Field& potential, double tolerance = 1e-10);

 private:
  struct Level {
    Level(const Grid& cells, bool gathered_here);
    Grid grid;
    Field u, f, r;
    std::optional<Grid>
        dealt;  ///< where this level is gathered and the finer one is not: its blocks
    std::optional<Field> part;  ///< this rank's block
  };
  void cycle(std::size_t level);
  void smooth(Level& level, int sweeps);
  double residual(Level& level);  ///< returns the greatest one of this rank
  void restrict_to(Level& coarse, Level& fine);
  void prolong(Level& coarse, Level& fine);
  void solve_coarsest();
  static void gather(Level& level);

  std::vector<Level> levels_;
  Halo halo_;
};

}  // namespace jeans
