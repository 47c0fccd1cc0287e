#include "problem.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "reduce.hpp"

namespace jeans {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;

/// Position of a cell's middle.
double middle(const Gas& gas, int dimension, std::int64_t i) {
  return (static_cast<double>(gas.grid.lower()[dimension] + i) + 0.5) * gas.grid.spacing();
}

/// At rest, but for a velocity along x; adiabatically compressed from density 1 and speed of
/// sound 1.
void set_cell(Gas& gas, const Index3& at, double rho, double velocity) {
  const double gamma = gas.physics.gamma, p = std::pow(rho, gamma) / gamma;
  const auto cell = [&](Array name) -> double& { return *gas[name].at(at[0], at[1], at[2]); };
  cell(density) = rho;
  cell(momentum_x) = rho * velocity;
  cell(momentum_y) = cell(momentum_z) = 0;
  cell(energy) = p / (gamma - 1) + 0.5 * rho * velocity * velocity;
  cell(potential) = 0;
}

struct PlaneWave {
  std::array<double, 3> k;
  double phase, weight;
};

/// Each pair of a wave vector and its opposite once, longer waves with more weight; their squares
/// sum up to 2.
std::vector<PlaneWave> plane_waves(const Gas& gas, const Cloud& cloud) {
  std::mt19937_64 random(static_cast<std::uint64_t>(cloud.seed));
  const double box = gas.grid.length();
  std::vector<PlaneWave> waves;
  double squares = 0;
  const int n = cloud.waves;
  for (int x = -n; x <= n; ++x)
    for (int y = -n; y <= n; ++y)
      for (int z = -n; z <= n; ++z) {
        // The standard says which numbers the generator gives; of the distributions it does not.
        const double phase = two_pi * std::ldexp(static_cast<double>(random() >> 11), -53);
        if (x < 0 || (x == 0 && (y < 0 || (y == 0 && z <= 0)))) continue;
        const std::array<int, 3> number{x, y, z};
        PlaneWave wave{{}, phase, 0};
        double k2 = 0;
        for (int d = 0; d < 3; ++d) {
          const auto cells = static_cast<double>(gas.grid.cells()[d]);
          wave.k[d] = two_pi * number[d] / (cells * gas.grid.spacing());
          k2 += wave.k[d] * wave.k[d];
        }
        if (k2 * box * box > two_pi * two_pi * n * n * 1.0001) continue;
        wave.weight = 1 / k2;
        squares += wave.weight * wave.weight;
        waves.push_back(wave);
      }
  for (auto& wave : waves) wave.weight *= std::sqrt(2 / squares);
  return waves;
}

}  // namespace

double Wave::omega_squared(const Gas& gas) const noexcept {
  const double k = two_pi * number / gas.grid.length();
  return k * k - gas.physics.four_pi_g;
}

void Wave::set(Gas& gas) const {
  const Index3 n = gas.grid.size();
  const double k = two_pi * number / gas.grid.length(), omega2 = omega_squared(gas);
  const double growth = omega2 < 0 ? std::sqrt(-omega2) : 0;
  for_rows(n, [&](std::int64_t j, std::int64_t y) {
    for (std::int64_t i = 0; i < n[0]; ++i) {
      const double x = middle(gas, 0, i);
      set_cell(gas, {i, j, y}, 1 + amplitude * std::cos(k * x),
               -amplitude * growth / k * std::sin(k * x));
    }
  });
}

double Wave::measure(const Gas& gas) const {
  const Index3 n = gas.grid.size();
  const double k = two_pi * number / gas.grid.length();
  Field product_of_both(n, 0);
  for_rows(n, [&](std::int64_t j, std::int64_t y) {
    for (std::int64_t i = 0; i < n[0]; ++i)
      *product_of_both.at(i, j, y) = *gas[density].at(i, j, y) * std::cos(k * middle(gas, 0, i));
  });
  return 2 * exact_sum(gas.grid, product_of_both) / static_cast<double>(product(gas.grid.cells()));
}

void Cloud::set(Gas& gas) const {
  const Index3 n = gas.grid.size();
  const std::vector<PlaneWave> waves = plane_waves(gas, *this);
  for_rows(n, [&](std::int64_t j, std::int64_t k) {
    for (std::int64_t i = 0; i < n[0]; ++i) {
      double excess = 0;
      for (const PlaneWave& w : waves)
        excess += w.weight * std::cos(w.k[0] * middle(gas, 0, i) + w.k[1] * middle(gas, 1, j) +
                                      w.k[2] * middle(gas, 2, k) + w.phase);
      set_cell(gas, {i, j, k}, std::max(1 + amplitude * excess, 0.1), 0);
    }
  });
}

double four_pi_g_of(double lengths, double box) noexcept {
  const double k = two_pi * lengths / box;
  return k * k;
}

}  // namespace jeans
