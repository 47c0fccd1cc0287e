// One row of cells along a dimension, brought forward in time by the piecewise parabolic method
// (Colella and Woodward, J. Comput. Phys. 54, 1984) with the HLLC Riemann solver.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace jeans {

class Sweep {
 public:
  /// `cells` of the row; hydro_ghosts more are on either side of it in all arrays.
  Sweep(std::int64_t cells, double gamma);

  /// Densities of mass, momentum along the row, momentum across it (2) and energy: to be filled
  /// with ghosts, and changed by advance() in the cells.
  std::array<std::vector<double>, 5> conserved;

  /// `step_by_spacing`: time step / side of a cell.
  void advance(double step_by_spacing);

 private:
  enum Variable { rho, along, across_1, across_2, pressure, variables };
  using Rows = std::array<std::vector<double>, variables>;

  void primitives();
  void flattening();
  void parabola(const std::vector<double>& a, std::vector<double>& left,
                std::vector<double>& right);
  void trace(double step_by_spacing);
  void fluxes();

  std::int64_t cells_, length_;  ///< without and with ghosts
  double gamma_;
  Rows w_, left_, right_;  ///< mean of a cell; its parabola's values at both ends
  Rows before_, behind_;   ///< states at the face after a cell: on its side, on the next cell's
  Rows flux_;              ///< through the face after a cell
  std::vector<double> steepness_, flat_, slope_, face_, sound_;
};

}  // namespace jeans
