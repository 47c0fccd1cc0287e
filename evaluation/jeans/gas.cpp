#include "gas.hpp"

namespace jeans {

Gas::Gas(const Grid& cells, const Physics& laws)
    : grid(cells),
      physics(laws),
      fields{Field(cells.size(), hydro_ghosts), Field(cells.size(), hydro_ghosts),
             Field(cells.size(), hydro_ghosts), Field(cells.size(), hydro_ghosts),
             Field(cells.size(), hydro_ghosts), Field(cells.size(), 1)} {}

double pressure(double gamma, double rho, const std::array<double, 3>& momentum,
                double energy) noexcept {
  const double squares =
      momentum[0] * momentum[0] + momentum[1] * momentum[1] + momentum[2] * momentum[2];
  return (gamma - 1) * (energy - 0.5 * squares / rho);
}

}  // namespace jeans
