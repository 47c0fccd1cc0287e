// What a run begins with.
#pragma once

#include "gas.hpp"

namespace jeans {

/// A plane wave of small amplitude in a uniform medium of density 1 and speed of sound 1, along x:
/// an eigenmode of the linear equations. Unstable where the dispersion relation gives omega^2 < 0:
/// it grows as exp(|omega| t); otherwise a standing wave, cos(omega t).
struct Wave {
  double amplitude = 1e-4;
  int number = 1;  ///< of wavelengths in the box

  /// omega^2 = c^2 k^2 - 4 pi G rho
  double omega_squared(const Gas& gas) const noexcept;
  void set(Gas& gas) const;
  /// Collective: the amplitude of the density's cosine with this wave number.
  double measure(const Gas& gas) const;
};

/// A perturbed uniform medium: density 1, speed of sound 1, at rest; waves of all directions with
/// up to `waves` wavelengths in the box, of the same phases on every grid. Those longer than Jeans'
/// length collapse.
struct Cloud {
  double amplitude = 0.1;  ///< standard deviation of the density
  int waves = 3;
  std::int64_t seed = 1996;

  void set(Gas& gas) const;
};

/// 4 pi G for which `lengths` Jeans lengths, at density 1 and speed of sound 1, are as long as the
/// box in x.
double four_pi_g_of(double lengths, double box) noexcept;

}  // namespace jeans
