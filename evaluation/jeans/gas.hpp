// Gas: the state of the computation, and its physical parameters.
#pragma once

#include <array>
#include <cstdint>

#include "grid.hpp"

namespace jeans {

/// The six arrays of a dump, in this order.
enum Array { density, momentum_x, momentum_y, momentum_z, energy, potential, arrays };

constexpr int conserved_arrays = 5;  ///< those before the potential
constexpr int hydro_ghosts = 4;  ///< cells on either side used by the piecewise parabolic method

/// Constants of a run.
struct Physics {
  double gamma = 5.0 / 3;  ///< ratio of specific heats
  double four_pi_g = 0;    ///< 4 pi times the constant of gravity
  double courant = 0.4;    ///< part of a cell that a signal crosses in a step
  double falling = 0.1;    ///< part of 1 / sqrt(4 pi G density) in a step
};

struct Gas {
  Gas(const Grid& cells, const Physics& laws);
  Field& operator[](Array name) noexcept { return fields[name]; }
  const Field& operator[](Array name) const noexcept { return fields[name]; }

  Grid grid;
  Physics physics;
  std::array<Field, arrays>
      fields;  ///< densities of mass, momentum and total energy; the potential
  std::int64_t iteration = 0;
  double time = 0;
  double step = 0;  ///< of the last iteration
};

/// Pressure from the densities of mass, momentum and energy.
double pressure(double gamma, double rho, const std::array<double, 3>& momentum,
                double energy) noexcept;

}  // namespace jeans
