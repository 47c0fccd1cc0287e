// One time step of self-gravitating gas: sweeps along the three dimensions, gravity before and
// after them.
#pragma once

#include "gas.hpp"
#include "halo.hpp"
#include "poisson.hpp"
#include "sweep.hpp"

namespace jeans {

class Solver {
 public:
  explicit Solver(const Gas& gas);

  /// Collective: the potential of the density. A correct one is not changed by a bit.
  void solve_potential(Gas& gas);
  /// Collective: the longest stable step. Throws penstock::Error(state), the same on every rank, if
  /// the gas has NaNs, or no mass.
  double stable_step(const Gas& gas);
  /// Collective: an iteration. Sweeps go x, y, z and z, y, x in turn, so that together they are
  /// second-order. The results for a cell do not depend on which rank has it.
  void advance(Gas& gas, double step);
  int cycles() const noexcept { return cycles_; }  ///< of the Poisson solver, so far

 private:
  void sweep(Gas& gas, int dimension, double step);
  void kick(Gas& gas, double step) const;

  Halo halo_;
  Poisson poisson_;
  Field source_;
  std::array<Sweep, 3> sweeps_;
  int cycles_ = 0;
};

}  // namespace jeans
